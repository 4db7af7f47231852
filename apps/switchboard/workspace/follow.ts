import { join } from 'node:path';
import { type Environment, loadYaml, watchDirectory } from '@trunkline/config';
import { z } from 'zod';
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

/** Loads something from files again whenever one of them changes; the last good value stays when that fails. */
export async function followFiles<Value>(
  places: { directory: string; isWanted: (file: string) => boolean }[],
  load: () => Promise<Value>,
  fallback: Value,
  { problems, changed }: FollowSettings,
): Promise<Followed<Value>> {
  let value = fallback;
  let turn = Promise.resolve();
  const reload = async (path: string) => {
    try {
      value = await load();
      problems.note(path, undefined);
      changed(path);
    } catch (error) {
      problems.note(path, error);
    }
  };
  const poke = (path: string) => {
    turn = turn.then(() => reload(path));
  };
  const watches = await Promise.all(
    places.map(({ directory, isWanted }) =>
      watchDirectory(directory, z.unknown(), {
        expand: false,
        onChange: ({ file }) => isWanted(file) && poke(join(directory, file)),
        onError: (_, file) => isWanted(file) && poke(join(directory, file)),
      }),
    ),
  );
  try {
    value = await load();
  } catch (error) {
    problems.note(places.map(({ directory }) => directory).join(', '), error);
  }
  const close = async () => {
    await Promise.all(watches.map((watch) => watch.close()));
    await turn;
  };
  return { value: () => value, close };
}

/** One file of the workspace; a missing one has the schema's defaults. */
export function followFile<Schema extends z.ZodType>(
  directory: string,
  file: string,
  schema: Schema,
  settings: FollowSettings,
  expand: boolean,
): Promise<Followed<z.output<Schema>>> {
  const options = { allowMissing: true, expand, env: settings.env } as const;
  const load = async () =>
    (await loadYaml(join(directory, file), schema, options)) ?? schema.parse(undefined);
  return followFiles(
    [{ directory, isWanted: (name) => name === file }],
    load,
    schema.parse(undefined),
    settings,
  );
}

/** A folder with one entry a file, each of which must be called like its entry. */
export async function followFolder<Value extends { name: string }>(
  directory: string,
  schema: z.ZodType<Value>,
  { problems, changed }: FollowSettings,
): Promise<Followed<Value[]>> {
  const good = new Map<string, Value>();
  const take = (file: string, value: Value) => {
    const path = join(directory, file);
    if (file.replace(/\.ya?ml$/i, '') !== value.name) {
      problems.note(
        path,
        `${path}: its name is ${value.name}; call the file ${value.name}.yaml, or change the name`,
      );
      return;
    }
    good.set(file, value);
    problems.note(path, undefined);
  };
  const watch = await watchDirectory(directory, schema, {
    expand: false,
    onChange: (change) => {
      if (change.type !== 'remove') take(change.file, change.value);
      else if (good.delete(change.file)) problems.note(join(directory, change.file), undefined);
      changed(join(directory, change.file));
    },
    onError: (error, file) => problems.note(join(directory, file), error),
  });
  for (const [file, value] of watch.entries) take(file, value);
  return { value: () => [...good.values()], close: () => watch.close() };
}
