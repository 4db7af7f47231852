import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemCode, toError } from '@trunkline/std';
import type { z } from 'zod';
import { ConfigError } from '../config-error.ts';
import { valueOfText } from './load.ts';
import type { YamlOptions } from './parse.ts';
import { closeOnFailure, FileFollower, openWatcher, SETTLE_MS } from './watch-yaml.ts';

/** What happened to an entry; `file` is its name inside the directory. */
export type DirectoryChange<Value> =
  | { readonly type: 'add' | 'change'; readonly file: string; readonly value: Value }
  | { readonly type: 'remove'; readonly file: string };

export type WatchDirectoryOptions<Value> = YamlOptions & {
  onChange: (change: DirectoryChange<Value>) => void;
  /** Also called at the start for each file that cannot be used; the others are still loaded. */
  onError: (error: Error, file: string) => void;
  settleMs?: number;
};

/** A followed directory: `entries` holds the last good value of each file, by the file's name. */
export type DirectoryWatch<Value> = { readonly entries: ReadonlyMap<string, Value>; close(): Promise<void> };

/** Loads every YAML file of a directory and follows it; the directory may be missing until it is created. */
export async function watchDirectory<Schema extends z.ZodType>(
  directory: string,
  schema: Schema,
  options: WatchDirectoryOptions<z.output<Schema>>,
): Promise<DirectoryWatch<z.output<Schema>>> {
  const parse = (text: string | undefined, path: string) =>
    valueOfText(text, path, schema, { ...options, allowMissing: true });
  const follower = new DirectoryFollower(directory, parse, options);
  const watcher = await openWatcher(
    directory,
    (path) => follower.poke(basename(path)),
    (error) => options.onError(error, directory),
  );
  const close = async () => {
    await watcher.close();
    await follower.close();
  };
  await closeOnFailure(follower.load(), close);
  return { entries: follower.entries, close };
}

/** Keeps one follower for each file that is there. */
class DirectoryFollower<Value> {
  readonly entries = new Map<string, Value>();
  readonly #followers = new Map<string, FileFollower<Value | undefined>>();
  /** Files reported as wrong, so that their removal is reported too. */
  readonly #wrong = new Set<string>();
  readonly #directory: string;
  readonly #parse: (text: string | undefined, path: string) => Value | undefined;
  readonly #options: WatchDirectoryOptions<Value>;

  constructor(
    directory: string,
    parse: (text: string | undefined, path: string) => Value | undefined,
    options: WatchDirectoryOptions<Value>,
  ) {
    this.#directory = directory;
    this.#parse = parse;
    this.#options = options;
  }

  async load(): Promise<void> {
    for (const file of await filesOf(this.#directory)) {
      try {
        const value = await this.#followerOf(file).load();
        if (value !== undefined) this.entries.set(file, value);
      } catch (error) {
        this.#refuse(file, toError(error));
      }
    }
  }

  poke(file: string): void {
    if (isEntry(file)) this.#followerOf(file).poke();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followers.values()].map((follower) => follower.close()));
  }

  #followerOf(file: string): FileFollower<Value | undefined> {
    const known = this.#followers.get(file);
    if (known !== undefined) return known;
    const path = join(this.#directory, file);
    const follower = new FileFollower({
      path,
      env: this.#options.env,
      settleMs: this.#options.settleMs ?? SETTLE_MS,
      parse: (text) => this.#parse(text, path),
      onChange: (value) => this.#take(file, value),
      onError: (error) => this.#refuse(file, error),
      onGone: () => this.#followers.delete(file),
    });
    this.#followers.set(file, follower);
    return follower;
  }

  #refuse(file: string, error: Error): void {
    this.#wrong.add(file);
    this.#options.onError(error, file);
  }

  #take(file: string, value: Value | undefined): void {
    const wasWrong = this.#wrong.delete(file);
    const type = this.entries.has(file) ? 'change' : 'add';
    if (value !== undefined) {
      this.entries.set(file, value);
      this.#options.onChange({ type, file, value });
    } else if (this.entries.delete(file) || wasWrong) {
      this.#options.onChange({ type: 'remove', file });
    }
  }
}

async function filesOf(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((cause: unknown) => {
    if (systemCode(cause) === 'ENOENT') return [];
    const problem = `${directory}: expected a directory that can be read; the system says ${systemCode(cause)}`;
    throw new ConfigError(`${directory} cannot be used:`, [problem], { cause });
  });
  return names.filter(isEntry).sort();
}

// Examples, hidden files and what editors leave beside a file are no entries.
function isEntry(name: string): boolean {
  return /\.ya?ml$/i.test(name) && !/\.example\.ya?ml$/i.test(name) && !name.startsWith('.');
}
