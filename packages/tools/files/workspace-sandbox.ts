import { randomBytes } from 'node:crypto';
import { constants, type Dirent, existsSync, realpathSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { systemCode } from '@trunkline/std';
import { resolveInside } from '@trunkline/storage';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Where the system lets a path begin at an open directory, no check can be outrun by a link placed later. */
const DESCRIPTORS = '/proc/self/fd';
const hasDescriptors = existsSync(DESCRIPTORS);

/** An open directory inside the sandbox, and where it stands. */
interface Place {
  handle: FileHandle;
  path: string;
}

/** The one directory that the file tools may touch. Every way out of it is refused, also one made between two steps. */
export class WorkspaceSandbox {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The path below the root for rules, links followed; one that begins with `../` where it leads out or is none. */
  subject(name: string): { path: string } {
    try {
      const root = realpathSync(this.#root);
      const path = relative(root, resolveInside(root, name || '.'));
      return { path: path.split(sep).join('/') || '.' };
    } catch {
      return { path: `../${name}` };
    }
  }

  async read(name: string, mostBytes: number): Promise<Buffer> {
    const { parts, file } = await this.#locate(name);
    return await this.#within(parts, false, async (place) => {
      const handle = await openIn(place, file, O_RDONLY | O_NONBLOCK);
      return await closing(handle, () => readRegular(handle, name, mostBytes));
    });
  }

  /** Replaces the file whole and keeps who may use it how; directories on the way are created. */
  async write(name: string, content: string): Promise<void> {
    const { parts, file } = await this.#locate(name);
    await this.#within(parts, true, async (place) => {
      const temporary = `.${randomBytes(6).toString('hex')}.tmp`;
      const handle = await openIn(place, temporary, O_WRONLY | O_CREAT | O_EXCL);
      try {
        await closing(handle, async () => {
          await handle.writeFile(content);
          const mode = await modeOf(entryPath(place, file));
          if (mode !== undefined) await handle.chmod(mode);
        });
        await rename(entryPath(place, temporary), entryPath(place, file));
      } catch (error) {
        await rm(entryPath(place, temporary), { force: true });
        throw error;
      }
    });
  }

  async list(name: string): Promise<Dirent[]> {
    const parts = name === '.' || name === '' ? [] : partsOf(await this.#inside(name));
    return await this.#within(parts, false, async (place) => {
      const entries = await readdir(placePath(place), { withFileTypes: true });
      return entries.sort((left, right) => left.name.localeCompare(right.name));
    });
  }

  /** The real path below the root, links that stay inside followed. */
  async #inside(name: string): Promise<string> {
    const root = await realpath(this.#root);
    return relative(root, resolveInside(root, name));
  }

  async #locate(name: string): Promise<{ parts: string[]; file: string }> {
    const parts = partsOf(await this.#inside(name));
    const file = parts.pop();
    if (file === undefined) throw new Error(`${name} is a directory.`);
    return { parts, file };
  }

  /** Goes down part by part and follows no link on the way. */
  async #within<Result>(
    parts: readonly string[],
    create: boolean,
    work: (place: Place) => Promise<Result>,
  ): Promise<Result> {
    const root = await realpath(this.#root);
    let place: Place = { handle: await open(root, O_RDONLY | O_DIRECTORY), path: root };
    try {
      for (const part of parts) {
        const next = await enter(place, part, create);
        await place.handle.close();
        place = next;
      }
      return await work(place);
    } finally {
      await place.handle.close();
    }
  }
}

async function enter(place: Place, part: string, create: boolean): Promise<Place> {
  if (create) await mkdir(entryPath(place, part)).catch(whenThereAlready);
  return { handle: await openIn(place, part, O_RDONLY | O_DIRECTORY), path: join(place.path, part) };
}

async function openIn(place: Place, name: string, flags: number): Promise<FileHandle> {
  const path = entryPath(place, name);
  const handle = await open(path, flags | O_NOFOLLOW, 0o644).catch((error: unknown) => {
    throw explained(error, name);
  });
  if (hasDescriptors) return handle;
  const isSame = await standsAt(handle, path);
  if (isSame) return handle;
  await handle.close();
  throw new Error(`${name} was changed while it was opened.`);
}

/** Without descriptors as paths: what was opened must be what stands, links resolved, at that very place. */
async function standsAt(handle: FileHandle, path: string): Promise<boolean> {
  const [opened, there, real] = [await handle.stat(), await stat(path), await realpath(path)];
  return real === path && opened.ino === there.ino && opened.dev === there.dev;
}

function placePath({ handle, path }: Place): string {
  return hasDescriptors ? `${DESCRIPTORS}/${handle.fd}` : path;
}

function entryPath(place: Place, name: string): string {
  return join(placePath(place), name);
}

async function readRegular(handle: FileHandle, name: string, mostBytes: number): Promise<Buffer> {
  const { size, isFile } = await handle
    .stat()
    .then((stats) => ({ size: stats.size, isFile: stats.isFile() }));
  if (!isFile) throw new Error(`${name} is not a file.`);
  if (size > mostBytes) throw new Error(`${name} is larger than ${mostBytes} bytes.`);
  return await handle.readFile();
}

/** What the owner, the group and others may do with a file; undefined when there is none yet. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    const stats = await lstat(path);
    return stats.isFile() ? stats.mode & 0o777 : undefined;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function closing<Result>(handle: FileHandle, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    await handle.close();
  }
}

function partsOf(path: string): string[] {
  return path === '' ? [] : path.split(sep);
}

function whenThereAlready(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function explained(error: unknown, name: string): Error {
  const code = systemCode(error);
  if (code === 'ENOENT') return new Error(`there is no ${name}.`, { cause: error });
  if (code === 'ELOOP' || code === 'EMLINK')
    return new Error(`${name} is a link, which is not followed.`, { cause: error });
  if (code === 'ENOTDIR') return new Error(`${name} is not a directory.`, { cause: error });
  if (code === 'EISDIR') return new Error(`${name} is a directory.`, { cause: error });
  if (code === 'EACCES' || code === 'EPERM')
    return new Error(`this user may not open ${name}.`, { cause: error });
  return new Error(`${name} cannot be opened.`, { cause: error });
}
