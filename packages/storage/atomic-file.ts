import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFile,
  writeFileSync,
} from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage, systemCode } from '@trunkline/std';
import { reasonOf, StorageError } from './errors.ts';

/** A directory may hold a hundred thousand files: it is not listed at every write. */
const listEveryMs = 60_000;

const keptListings = 1000;

const listings = new Map<string, Listing>();

export interface WriteOptions {
  /** Permission bits; without it an existing file keeps its own and a new one follows the umask. */
  mode?: number;
  /** Writes only over this text: a file that somebody changed or removed meanwhile stays so, and `file_changed` is thrown. */
  over?: string;
  /** False: it survives the end of this process, as a row of SQLite does, but not a power cut, and nobody waits for the disk. */
  sync?: boolean;
}

interface Write {
  data: string | Uint8Array;
  options: WriteOptions;
}

/** Writes in progress by path: one running, and at most one waiting that holds the newest content. */
interface Line {
  waiting: Write | undefined;
  waitingDone: Promise<void> | undefined;
  running: Promise<void>;
}

const lines = new Map<string, Line>();

/**
 * Replaces a file whole: a reader, or a start after a crash, finds the old content or the new, never a part.
 * When it resolves, this content or one written later is on the disk. Parent directories are created.
 */
export function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  const place = resolve(path);
  const line = lines.get(place);
  if (line === undefined) return startLine(place, { data, options });
  if (options.over !== undefined) return writeAfter(place, line, { data, options });
  line.waiting = { data, options };
  line.waitingDone ??= line.running.then(
    () => runWaiting(place, line),
    () => runWaiting(place, line),
  );
  return line.waitingDone;
}

/** What may come to nothing takes the place of no other write. */
async function writeAfter(path: string, line: Line, write: Write): Promise<void> {
  for (let before: Line | undefined = line; before !== undefined; before = lines.get(path))
    await Promise.allSettled([before.waitingDone ?? before.running]);
  await startLine(path, write);
}

function startLine(path: string, write: Write): Promise<void> {
  const line: Line = { waiting: undefined, waitingDone: undefined, running: Promise.resolve() };
  lines.set(path, line);
  line.running = runWrite(path, line, write);
  return line.running;
}

function runWaiting(path: string, line: Line): Promise<void> {
  const write = line.waiting;
  line.waiting = undefined;
  line.waitingDone = undefined;
  line.running = write === undefined ? Promise.resolve() : runWrite(path, line, write);
  return line.running;
}

async function runWrite(path: string, line: Line, write: Write): Promise<void> {
  try {
    await replaceFile(path, write);
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const code = systemCode(error) === 'ENOSPC' ? 'disk_full' : 'file_unwritable';
    throw new StorageError(code, `The file ${path} cannot be written: ${reasonOf(error)}.`, { cause: error });
  } finally {
    if (line.waiting === undefined) lines.delete(path);
  }
}

/**
 * What only reads or changes the kernel's tables is done at once, as SQLite does it: handing each such call to a thread
 * costs several times the call. Waiting for the disk is left to threads.
 */
async function replaceFile(path: string, { data, options }: Write): Promise<void> {
  const { target, mode: present } = lookAt(path);
  await removeLeftovers(target);
  const mode = options.mode ?? present;
  const temporary = temporaryName(target);
  try {
    await writeTemporary(temporary, data, { mode, sync: options.sync !== false });
    if (options.over === undefined) renameSync(temporary, target);
    else renameOver(temporary, target, options.over);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  if (options.sync !== false) await syncDirectory(dirname(target));
}

/** At one go, so that nobody in this process comes between the look and the write. */
function renameOver(temporary: string, target: string, expected: string): void {
  if (currentText(target) !== expected) {
    const words = `The file ${target} was changed or removed meanwhile: read it again.`;
    throw new StorageError('file_changed', words);
  }
  renameSync(temporary, target);
}

function currentText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A file that is a link stays one: what it points to is replaced. */
function lookAt(path: string): { target: string; mode: number | undefined } {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isSymbolicLink()) return { target: path, mode: found && found.mode & 0o777 };
  const pointed = statSync(path, { throwIfNoEntry: false });
  if (pointed === undefined) return { target: path, mode: undefined };
  return { target: realpathSync(path), mode: pointed.mode & 0o777 };
}

/** The directory may have been removed since it was listed. */
function create(path: string, mode: number): number {
  try {
    return openSync(path, 'wx', mode);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'wx', mode);
  }
}

/** More than this is written by a thread. */
const smallBytes = 64 * 1024;

async function writeTemporary(
  path: string,
  data: string | Uint8Array,
  { mode, sync }: { mode: number | undefined; sync: boolean },
): Promise<void> {
  const file = create(path, mode ?? 0o666);
  try {
    if (mode !== undefined) fchmodSync(file, mode);
    if (data.length <= smallBytes) writeFileSync(file, data);
    else await writeWhole(file, data);
    if (sync) await syncFile(file);
  } finally {
    closeSync(file);
  }
}

const syncFile = promisify(fsync);
const writeWhole = promisify(writeFile);

/** By directory: the one that runs, and the next, which all share that come meanwhile. */
const syncs = new Map<string, { running: Promise<void>; next: Promise<void> | undefined }>();

/** The rename itself is on the disk only when its directory is. Windows cannot open one and needs no such step. */
function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return Promise.resolve();
  const known = syncs.get(path);
  if (known === undefined) return startSync(path);
  const start = () => startSync(path);
  known.next ??= known.running.then(start, start);
  return known.next;
}

function startSync(path: string): Promise<void> {
  const started = { running: syncNow(path), next: undefined };
  syncs.set(path, started);
  const end = () => {
    if (syncs.get(path) === started && started.next === undefined) syncs.delete(path);
  };
  started.running.then(end, end);
  return started.running;
}

async function syncNow(path: string): Promise<void> {
  const directory = openSync(path, 'r');
  try {
    await syncFile(directory);
  } finally {
    closeSync(directory);
  }
}

/** The parsed content of a JSON file, or undefined when there is none. The caller validates its shape. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const words = `The file ${path} is not valid JSON (${errorMessage(error)}): mend it, restore a copy or remove it.`;
    throw new StorageError('file_damaged', words, { cause: error });
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new StorageError('file_unreadable', `The file ${path} cannot be read: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

/** A directory that exists, and what killed writers left in it, by the file it was meant for. */
interface Listing {
  at: number;
  leftovers: Map<string, string[]>;
}

/** Counts on from a random number, as other threads of the process count too; randomness for each file costs as much as its rename. */
let lastNumber: number | undefined;

function temporaryName(path: string): string {
  lastNumber = ((lastNumber ?? randomBytes(4).readUInt32LE()) + 1) % 2 ** 32;
  const number = lastNumber.toString(16).padStart(8, '0');
  return join(dirname(path), `.${basename(path)}.${process.pid}-${number}.tmp`);
}

/** Removes temporary files of this path whose writer is gone; what was left within the last minute may stay for another. */
async function removeLeftovers(path: string): Promise<void> {
  const directory = dirname(path);
  const { leftovers } = await listingOf(directory);
  const names = leftovers.get(basename(path)) ?? [];
  leftovers.delete(basename(path));
  for (const name of names) await rm(join(directory, name), { force: true });
}

async function listingOf(directory: string): Promise<Listing> {
  const known = listings.get(directory);
  if (known !== undefined && performance.now() - known.at < listEveryMs) return known;
  const at = performance.now();
  await mkdir(directory, { recursive: true });
  const found = (await readdir(directory)).flatMap((name) => leftoverIn(directory, name) ?? []);
  const byFile = Map.groupBy(found, ({ file }) => file);
  const leftovers = new Map([...byFile].map(([file, all]) => [file, all.map(({ name }) => name)]));
  if (listings.size >= keptListings) listings.clear();
  listings.set(directory, { at, leftovers });
  return { at, leftovers };
}

function leftoverIn(directory: string, name: string): { file: string; name: string } | undefined {
  const [, file, writer] = /^\.(.+)\.(\d+)-[0-9a-f]{8}\.tmp$/.exec(name) ?? [];
  if (file === undefined || isOtherLiveProcess(Number(writer))) return undefined;
  if (Number(writer) === process.pid && isOfThisProcess(join(directory, name))) return undefined;
  return { file, name };
}

/** Another thread may be writing it; one from before the start is of a former process with the same number. */
function isOfThisProcess(path: string): boolean {
  const startedAt = Date.now() - process.uptime() * 1000;
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= startedAt;
}

function isOtherLiveProcess(id: number): boolean {
  if (id === process.pid) return false;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== 'ESRCH';
  }
}
