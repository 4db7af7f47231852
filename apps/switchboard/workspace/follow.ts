import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DirectoryWatch, type Environment, loadYaml, watchDirectory } from '@trunkline/config';
import { z } from 'zod';
import type { FileKind, FolderKind } from './kinds.ts';
import type { Problems } from './problems.ts';

export interface FollowSettings {
  problems: Problems;
  env: Environment;
  /** Called after a change that can be used. */
  changed: (file: string) => void;
}

export interface Followed<Value> {
  value(): Value;
  close(): Promise<void>;
}

/** How long a file that cannot be used is given before that is told: its writer may be at work. */
const patienceMs = 250;

/** Files directly inside one directory, each loaded again when it changes; the last good value stays when that fails. */
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

  /** Begins to watch; files that are followed later are included. */
  async open(): Promise<void> {
    const poke = (file: string) => {
      const reload = this.#reloads.get(file);
      if (reload !== undefined) this.#turn = this.#turn.then(reload);
    };
    this.#watch = await watchDirectory(this.#directory, z.unknown(), {
      expand: false,
      onChange: ({ file }) => poke(file),
      onError: (_, file) => poke(file),
    });
  }

  /** The value of a file: undefined when it is missing, or was never good. */
  async follow<Schema extends z.ZodType>({
    file,
    schema,
    expand,
  }: FileKind<Schema>): Promise<() => z.output<Schema> | undefined> {
    const path = join(this.#directory, file);
    const { env, problems, changed } = this.#settings;
    let value: z.output<Schema> | undefined;
    const load = async () => {
      value = await loadYaml(path, schema, { allowMissing: true, expand, env });
      problems.note(path, undefined);
    };
    this.#reloads.set(file, async () => {
      try {
        await load().catch(() => delay(patienceMs).then(load));
        changed(path);
      } catch (error) {
        problems.note(path, error);
      }
    });
    await load().catch((error: unknown) => problems.note(path, error));
    return () => value;
  }

  async close(): Promise<void> {
    await this.#watch?.close();
    await this.#turn;
  }
}

/** A folder with one entry a file, each of which must be called like its entry. */
export async function followFolder<Schema extends z.ZodType>(
  root: string,
  { folder, schema, key, expand }: FolderKind<Schema>,
  { problems, changed, env }: FollowSettings,
): Promise<Followed<z.output<Schema>[]>> {
  const directory = join(root, folder);
  const good = new Map<string, z.output<Schema>>();
  const take = (file: string, value: z.output<Schema>) => {
    const path = join(directory, file);
    const name = String((value as Record<string, unknown>)[key]);
    if (file.replace(/\.ya?ml$/i, '') !== name) {
      problems.note(path, `${path}: its ${key} is ${name}; call the file ${name}.yaml, or change the ${key}`);
      return;
    }
    good.set(file, value);
    problems.note(path, undefined);
  };
  const watch = await watchDirectory(directory, schema, {
    expand,
    env,
    onChange: (change) => {
      if (change.type !== 'remove') take(change.file, change.value);
      else {
        good.delete(change.file);
        problems.note(join(directory, change.file), undefined);
      }
      changed(join(directory, change.file));
    },
    onError: (error, file) => problems.note(join(directory, file), error),
  });
  for (const [file, value] of watch.entries) take(file, value);
  return { value: () => [...good.values()], close: () => watch.close() };
}
