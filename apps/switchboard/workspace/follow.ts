import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DirectoryWatch,
  type Environment,
  type Logger,
  loadYaml,
  watchDirectory,
} from '@trunkline/config';
import { z } from 'zod';
import type { FileKind, FolderKind } from './kinds.ts';
import type { Problems } from './problems.ts';
import { restrictFile } from './restrict.ts';

const ending = /\.(yaml|yml)$/;

export interface FollowSettings {
  problems: Problems;
  env: Environment;
  logger: Logger;
  /** Called after a valid change. */
  changed: (file: string) => void;
}

export interface Followed<Value> {
  value(): Value;
  close(): Promise<void>;
}

/** An invalid file may be half written: wait before reporting it. */
const patienceMs = 250;

/** Files of one directory, reloaded when they change; the last good value stays when that fails. */
export class FollowedFiles {
  readonly #directory: string;
  readonly #settings: FollowSettings;
  readonly #reloads = new Map<string, () => Promise<void>>();
  #turn: Promise<void> = Promise.resolve();
  #watch: DirectoryWatch<unknown> | undefined;

  constructor(directory: string, settings: FollowSettings) {
    this.#directory = directory;
    this.#settings = settings;
  }

  /** Files followed later are included. */
  async open(): Promise<void> {
    const poke = (file: string) => {
      const reload = this.#reloads.get(file);
      if (reload !== undefined) this.#turn = this.#turn.then(reload);
    };
    this.#watch = await watchDirectory(this.#directory, z.unknown(), {
      expand: false,
      env: this.#settings.env,
      onChange: ({ file }) => poke(file),
      onError: (_, file) => poke(file),
    });
  }

  /** Undefined when the file is missing or was never valid. */
  async follow<Schema extends z.ZodType>(
    kind: FileKind<Schema>,
  ): Promise<() => z.output<Schema> | undefined> {
    const { problems, changed } = this.#settings;
    let value: z.output<Schema> | undefined;
    const load = async () => {
      value = await this.#load(kind);
    };
    const path = () => join(this.#directory, this.#standing(kind));
    const reload = async () => {
      try {
        await load().catch(() => delay(patienceMs).then(load));
        changed(path());
      } catch (error) {
        problems.note(path(), error);
      }
    };
    for (const file of kind.exact ? [kind.file] : spellingsOf(kind.file)) this.#reloads.set(file, reload);
    await load().catch((error: unknown) => problems.note(path(), error));
    return () => value;
  }

  async #load<Schema extends z.ZodType>(kind: FileKind<Schema>): Promise<z.output<Schema> | undefined> {
    const { env, problems, logger } = this.#settings;
    const path = join(this.#directory, this.#standing(kind));
    if (kind.confidential) restrictFile(path, logger);
    const value = await loadYaml(path, kind.schema, { allowMissing: true, expand: kind.expand, env });
    const [first, second] = kind.exact ? [path, path] : spellingsOf(path);
    const isTwice = !kind.exact && standsTwice(this.#directory, kind.file);
    problems.note(first, undefined);
    problems.note(second, isTwice ? twiceWords(path) : undefined);
    return value;
  }

  #standing({ file, exact }: FileKind): string {
    return exact ? file : standingFile(this.#directory, file);
  }

  async close(): Promise<void> {
    await this.#watch?.close();
    await this.#turn;
  }
}

/** A folder with one entry a file, named like its entry. */
export async function followFolder<Schema extends z.ZodType>(
  root: string,
  { folder, schema, key, expand, confidential }: FolderKind<Schema>,
  { problems, changed, env, logger }: FollowSettings,
): Promise<Followed<z.output<Schema>[]>> {
  const directory = join(root, folder);
  const nameOf = (value: z.output<Schema>) => String((value as Record<string, unknown>)[key]);
  const cache = new FileCache<z.output<Schema>>({ directory, problems, nameOf, key });
  const restrict = (file: string) => {
    if (confidential) restrictFile(join(directory, file), logger);
  };
  const watch = await watchDirectory(directory, schema, {
    expand,
    env,
    onChange: (change) => {
      restrict(change.file);
      if (change.type === 'remove') cache.remove(change.file);
      else cache.put(change.file, change.value);
      changed(join(directory, change.file));
    },
    onError: (error, file) => {
      restrict(file);
      cache.refuse(file, error);
    },
  });
  for (const [file, value] of watch.entries) {
    restrict(file);
    cache.put(file, value);
  }
  return { value: () => cache.values(), close: () => watch.close() };
}

interface ShelfSettings<Value> {
  directory: string;
  problems: Problems;
  /** The entry's own name, and the field that holds it. */
  nameOf: (value: Value) => string;
  key: string;
}

/** Entries of a folder by file, and the problems of invalid ones. */
class FileCache<Value> {
  readonly #settings: ShelfSettings<Value>;
  readonly #good = new Map<string, Value>();
  readonly #wrong = new Map<string, unknown>();

  constructor(settings: ShelfSettings<Value>) {
    this.#settings = settings;
  }

  /** Refuses an entry whose name differs from the file's; the last good value stays. */
  put(file: string, value: Value): void {
    const words = this.#misnamed(file, value);
    if (words === undefined) {
      this.#good.set(file, value);
      this.#wrong.delete(file);
    } else this.#wrong.set(file, words);
    this.#tell(file);
  }

  refuse(file: string, error: unknown): void {
    this.#wrong.set(file, error);
    this.#tell(file);
  }

  remove(file: string): void {
    this.#good.delete(file);
    this.#wrong.delete(file);
    this.#tell(file);
  }

  values(): Value[] {
    return [...this.#good].filter(([file]) => !this.#isSecond(file)).map(([, value]) => value);
  }

  #misnamed(file: string, value: Value): string | undefined {
    const { directory, nameOf, key } = this.#settings;
    const [name, path] = [nameOf(value), join(directory, file)];
    if (entryIn(file) === name) return undefined;
    return `${path}: its ${key} is ${name}; call the file ${name}.yaml, or change the ${key}`;
  }

  /** A change also affects the other spelling of the name. */
  #tell(changed: string): void {
    const { problems, directory } = this.#settings;
    for (const file of new Set([changed, ...spellingsOf(changed)])) {
      const path = join(directory, file);
      const words = this.#isSecond(file) ? twiceWords(path) : undefined;
      problems.note(path, this.#wrong.get(file) ?? words);
    }
  }

  #isSecond(file: string): boolean {
    const [first, second] = spellingsOf(file);
    return file === second && this.#knows(first) && this.#knows(second);
  }

  #knows(file: string): boolean {
    return this.#good.has(file) || this.#wrong.has(file);
  }
}

/** Undefined for examples, hidden files and editors' leftovers. */
export function entryIn(file: string): string | undefined {
  const isEntry = ending.test(file) && !/\.example\.\w+$/.test(file) && !file.startsWith('.');
  return isEntry ? file.replace(ending, '') : undefined;
}

/** Both spellings of a file name; the first wins if both exist. */
export function spellingsOf(file: string): [string, string] {
  const stem = file.replace(ending, '');
  return [`${stem}.yaml`, `${stem}.yml`];
}

/** The existing spelling, or that of a new file. */
export function standingFile(directory: string, file: string): string {
  const [first, second] = spellingsOf(file);
  const stands = (name: string) => existsSync(join(directory, name));
  return !stands(first) && stands(second) ? second : first;
}

export function standsTwice(directory: string, file: string): boolean {
  return spellingsOf(file).every((name) => existsSync(join(directory, name)));
}

export function twiceWords(file: string): string {
  const [first, second] = spellingsOf(file);
  return `${second} is not used, because ${first} holds the same entry; remove one of them`;
}
