import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import { isMissing } from './load.ts';
import type { YamlOptions } from './parse.ts';
import { createReloader, type Reloader } from './reloader.ts';
import { SETTLE_MS } from './watch-yaml.ts';
import { openWatcher } from './watcher.ts';

/** What happened to an entry; `file` is its name inside the directory. */
export type DirectoryChange<Value> =
  | { readonly type: 'add' | 'change'; readonly file: string; readonly value: Value }
  | { readonly type: 'remove'; readonly file: string };

export type WatchDirectoryOptions<Value> = YamlOptions & {
  onChange: (change: DirectoryChange<Value>) => void;
  /** Also told at the start of each file that cannot be used; the others are loaded all the same. */
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
  const { onError } = options;
  const entries = new Map<string, z.output<Schema>>();
  const reloaders = new Map<string, Reloader<unknown>>();
  const follow = (file: string) => {
    const reloader = reloaders.get(file) ?? createEntry(directory, file, schema, options, entries);
    reloaders.set(file, reloader);
    return reloader;
  };
  const poke = (path: string) => {
    if (isEntry(basename(path))) follow(basename(path)).poke();
  };
  const watcher = await openWatcher(directory, poke, (error) => onError(error, directory));
  for (const file of await filesOf(directory)) {
    await loadEntry(follow(file), file, entries, onError);
  }
  const close = async () => {
    await watcher.close();
    await Promise.all([...reloaders.values()].map((reloader) => reloader.close()));
  };
  return { entries, close };
}

function createEntry<Schema extends z.ZodType>(
  directory: string,
  file: string,
  schema: Schema,
  { onChange, onError, settleMs = SETTLE_MS, ...yaml }: WatchDirectoryOptions<z.output<Schema>>,
  entries: Map<string, z.output<Schema>>,
): Reloader<z.output<Schema> | undefined> {
  const take = (value: z.output<Schema> | undefined) => {
    const type = entries.has(file) ? 'change' : 'add';
    if (value !== undefined) {
      entries.set(file, value);
      onChange({ type, file, value });
    } else if (entries.delete(file)) {
      onChange({ type: 'remove', file });
    }
  };
  const reactions = { onChange: take, onError: (error: Error) => onError(error, file) };
  return createReloader(join(directory, file), schema, { ...yaml, allowMissing: true, settleMs }, reactions);
}

async function loadEntry<Value>(
  reloader: Reloader<Value | undefined>,
  file: string,
  entries: Map<string, Value>,
  onError: (error: Error, file: string) => void,
): Promise<void> {
  try {
    const value = await reloader.load();
    if (value !== undefined) entries.set(file, value);
  } catch (error) {
    onError(error instanceof Error ? error : new Error(String(error)), file);
  }
}

async function filesOf(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return names.filter(isEntry).sort();
}

// Examples, hidden files and what editors leave beside a file are no entries.
function isEntry(name: string): boolean {
  return /\.ya?ml$/i.test(name) && !/\.example\.ya?ml$/i.test(name) && !name.startsWith('.');
}
