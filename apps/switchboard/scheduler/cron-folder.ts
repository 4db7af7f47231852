import { type FSWatcher, mkdirSync, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { type Logger, notPlain } from '@trunkline/config';
import { entryIn, spellingsOf, standingFile, standsTwice, twiceWords } from '../workspace/follow.ts';
import type { CronRecord } from '../workspace/schema/cron.ts';
import { scheduleId } from '../workspace/schema/names.ts';
import type { KnownFile, Ledger } from './ledger.ts';
import { type Entry, readRecord, scheduleOf } from './record.ts';

export interface CronFolderSettings {
  directory: string;
  ledger: Ledger;
  now: () => number;
  /** No entry: the record was removed. */
  onChange: (id: string, entry: Entry | undefined, owner: string | undefined) => void;
  /** The file was saved or removed, by whomever; `lastFired` alone is no save. */
  onSave: (id: string) => void;
  /** The file was written and removed before it was read, as one that another switchboard has written here. */
  onGoneUnseen: (id: string) => void;
  /** Undefined: the file is valid again. */
  onProblem: (path: string, error: unknown) => void;
  logger: Logger;
}

/** Changes are read in batches; an invalid file may be half written. */
const settleMs = 100;
const patienceMs = 250;
/** File system events can get lost, so the whole folder is compared at intervals. */
const compareEveryMs = 5 * 60_000;
const batch = 500;
/** Increase it when parsing changes, so that stored records are read again. */
const recordVersion = 1;

/**
 * The records of `crons/`. Unchanged files are not read again at a start and one watch serves all, so that a hundred
 * thousand schedules start in seconds.
 */
export class CronFolder {
  readonly #settings: CronFolderSettings;
  readonly #entries = new Map<string, Entry>();
  readonly #marks = new Map<string, string>();
  readonly #touched = new Set<string>();
  readonly #wrong = new Map<string, string>();
  readonly #names: CronNames;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #compare: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(settings: CronFolderSettings) {
    this.#settings = settings;
    this.#names = new CronNames(settings.directory, settings.onProblem);
  }

  /** Reads everything, then follows it. */
  async open(): Promise<void> {
    const { directory } = this.#settings;
    mkdirSync(directory, { recursive: true });
    this.#watcher = watch(directory, { persistent: false }, (_, name) => name !== null && this.#poke(name));
    this.#watcher.on('error', (error) => this.#settings.onProblem(directory, error));
    await this.#load();
    this.#compare = setInterval(() => this.#pokeAll(), compareEveryMs).unref();
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  list(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Existing or new. */
  path(id: string): string {
    return this.#names.path(id);
  }

  /** Undefined when there is no file. */
  text(id: string): string | undefined {
    this.#names.look(id);
    return this.#text(id);
  }

  /** Reads a file that was just written or removed. */
  refresh(id: string): void {
    this.#names.look(id);
    this.#refresh(id);
  }

  /** Reads whatever changed, without waiting for file system events. */
  compare(): void {
    for (const id of new Set([...this.#entries.keys(), ...this.#names.all()])) this.#refresh(id);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watcher?.close();
    clearTimeout(this.#timer);
    clearInterval(this.#compare);
    await this.#turn;
  }

  async #load(): Promise<void> {
    const { ledger } = this.#settings;
    const known = new Map(ledger.files().map((file) => [file.file, file]));
    const fresh: KnownFile[] = [];
    let count = 0;
    for (const id of this.#names.all()) {
      const file = this.#loadOne(id, known.get(id));
      if (file !== undefined) fresh.push(file);
      known.delete(id);
      if (++count % batch === 0) await nextTurn();
    }
    ledger.putFiles(fresh);
    for (const id of known.keys()) ledger.removeFile(id);
  }

  /** What the ledger must store, if anything. */
  #loadOne(id: string, known: KnownFile | undefined): KnownFile | undefined {
    const mark = markOf(this.#names.path(id));
    if (mark === undefined) return undefined;
    if (known?.mark === mark) {
      this.#set(id, mark, entryOf(JSON.parse(known.record) as CronRecord, known.since));
      return undefined;
    }
    const record = this.#read(id);
    if (record === undefined) return undefined;
    const entry = entryOf(record, this.#since(record, known));
    this.#set(id, mark, entry);
    return knownFile(id, mark, entry);
  }

  #refresh(id: string): void {
    const mark = markOf(this.#names.path(id));
    if (mark === this.#marks.get(id)) return;
    if (mark === undefined) this.#remove(id);
    else this.#take(id, mark);
  }

  #text(id: string): string | undefined {
    const path = this.#names.path(id);
    try {
      if (statSync(path).isFile()) return readFileSync(path, 'utf8');
      throw notPlain(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #poke(name: string): void {
    const id = entryIn(name);
    if (id === undefined || this.#closed) return;
    this.#names.look(id);
    this.#touch(id);
  }

  #touch(id: string): void {
    this.#touched.add(id);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#turn = this.#turn.then(() => this.#look()).catch((error: unknown) => this.#complain(error));
    }, settleMs).unref();
  }

  #pokeAll(): void {
    if (this.#closed) return;
    try {
      for (const id of [...this.#entries.keys(), ...this.#names.all()]) this.#touch(id);
    } catch (error) {
      this.#complain(error);
    }
  }

  #complain(error: unknown): void {
    const { logger, directory } = this.#settings;
    logger.error({ err: error, directory }, 'failed to compare schedules with their files');
  }

  async #look(): Promise<void> {
    const touched = [...this.#touched];
    this.#touched.clear();
    const ids = touched.filter((id) => markOf(this.#names.path(id)) !== this.#marks.get(id));
    for (const id of touched) if (this.#isGoneUnseen(id)) this.#settings.onGoneUnseen(id);
    const unsure = new Set(ids.filter((id) => !this.#isWhole(id)));
    for (const id of ids) if (!unsure.has(id)) this.#refresh(id);
    if (unsure.size === 0 || this.#closed) return;
    await delay(patienceMs);
    for (const id of unsure) if (!this.#closed) this.refresh(id);
  }

  #isGoneUnseen(id: string): boolean {
    const isUnknown = !this.#marks.has(id) && scheduleId.safeParse(id).success;
    return isUnknown && markOf(this.#names.path(id)) === undefined;
  }

  /** False for a file that may be half written. */
  #isWhole(id: string): boolean {
    try {
      readRecord(this.#text(id) ?? '', this.#names.path(id), id);
      return true;
    } catch {
      return false;
    }
  }

  #take(id: string, mark: string): void {
    this.#marks.set(id, mark);
    const record = this.#read(id);
    if (record === undefined) return;
    const before = this.#entries.get(id);
    const known = before && { record: JSON.stringify(before.record), since: before.since };
    const entry = entryOf(record, this.#since(record, known));
    this.#set(id, mark, entry);
    this.#note(id, (ledger) => ledger.putFiles([knownFile(id, mark, entry)]));
    const isSame = before !== undefined && isSameBut(before.record, record);
    if (!isSame) this.#settings.onChange(id, entry, record.owner);
    // Otherwise a comment was edited.
    const hasRun = (record.lastFired ?? '') > (before?.record.lastFired ?? '');
    if (!isSame || !hasRun) this.#settings.onSave(id);
  }

  #remove(id: string): void {
    this.#marks.delete(id);
    this.#isWell(id);
    this.#note(id, (ledger) => ledger.removeFile(id));
    const before = this.#entries.get(id)?.record;
    if (before === undefined) return;
    this.#entries.delete(id);
    this.#settings.onChange(id, undefined, before.owner);
    this.#settings.onSave(id);
  }

  /** The ledger only saves reading the file: a failed write, as on a full disk, does no harm. */
  #note(id: string, write: (ledger: Ledger) => void): void {
    try {
      write(this.#settings.ledger);
    } catch (error) {
      this.#settings.logger.warn({ err: error, schedule: id }, 'failed to write schedules.db');
    }
  }

  /** Keeps the last good record when the new one is invalid. */
  #read(id: string): CronRecord | undefined {
    const path = this.#names.path(id);
    try {
      const record = readRecord(this.#text(id) ?? '', path, id);
      this.#isWell(id);
      return record;
    } catch (error) {
      this.#wrong.set(id, path);
      this.#settings.onProblem(path, error);
      return undefined;
    }
  }

  #isWell(id: string): void {
    const path = this.#wrong.get(id);
    if (this.#wrong.delete(id) && path !== undefined) this.#settings.onProblem(path, undefined);
  }

  #set(id: string, mark: string, entry: Entry): void {
    this.#marks.set(id, mark);
    this.#entries.set(id, entry);
  }

  /** A new schedule, or the end of a pause, counts from now on; a file seen for the first time counts from its last fire. */
  #since(record: CronRecord, known: Pick<KnownFile, 'record' | 'since'> | undefined): number {
    const now = this.#settings.now();
    if (known === undefined) return Math.min(now, record.lastFired ? Date.parse(record.lastFired) : now);
    const before = JSON.parse(known.record) as CronRecord;
    const isSame = before.schedule === record.schedule && before.timezone === record.timezone;
    return isSame && (before.enabled || !record.enabled) ? known.since : now;
  }
}

function entryOf(record: CronRecord, since: number): Entry {
  return { record, type: scheduleOf(record).type, since };
}

function knownFile(file: string, mark: string, { record, since }: Entry): KnownFile {
  return { file, mark, since, record: JSON.stringify(record) };
}

/** `lastFired` is no change of the schedule. */
function isSameBut(
  { lastFired: _, ...before }: CronRecord,
  { lastFired: __, ...after }: CronRecord,
): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

/** Changes whenever the file is written or replaced. */
function markOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${recordVersion}:${found.ino}:${found.size}:${found.mtimeMs}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** File names of `crons/`. Nearly all end in .yaml, so only the others are remembered. */
class CronNames {
  readonly #directory: string;
  readonly #onProblem: (path: string, error: unknown) => void;
  readonly #others = new Set<string>();
  readonly #twice = new Set<string>();

  constructor(directory: string, onProblem: (path: string, error: unknown) => void) {
    this.#directory = directory;
    this.#onProblem = onProblem;
  }

  path(id: string): string {
    return join(this.#directory, `${id}${this.#others.has(id) ? '.yml' : '.yaml'}`);
  }

  look(id: string): void {
    const [first] = spellingsOf(`${id}.yaml`);
    this.#note(id, standingFile(this.#directory, first) !== first, standsTwice(this.#directory, first));
  }

  /** Ids of all schedules in the folder. */
  all(): string[] {
    const files = new Set(readdirSync(this.#directory));
    const ids = new Set([...files].flatMap((file) => entryIn(file) ?? []));
    for (const id of ids) {
      const [first, second] = spellingsOf(`${id}.yaml`);
      this.#note(id, !files.has(first), files.has(first) && files.has(second));
    }
    return [...ids];
  }

  #note(id: string, isOther: boolean, isTwice: boolean): void {
    if (isOther) this.#others.add(id);
    else this.#others.delete(id);
    if (isTwice === this.#twice.has(id)) return;
    const [first, second] = spellingsOf(join(this.#directory, `${id}.yaml`));
    this.#onProblem(second, isTwice ? twiceWords(first) : undefined);
    if (isTwice) this.#twice.add(id);
    else this.#twice.delete(id);
  }
}
