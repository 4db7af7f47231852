import type { z } from 'zod';
import type { LoadOptions, YamlValue } from './load.ts';
import { createReloader, type Reactions } from './reloader.ts';
import { openWatcher } from './watcher.ts';

/** How long a file must stay as it is before it counts as written. */
export const SETTLE_MS = 200;

export type WatchOptions<Missing extends boolean, Value> = LoadOptions<Missing> &
  Reactions<Value> & { settleMs?: number };

/** A followed file: `value` is always the last good one. */
export type YamlWatch<Value> = { readonly value: Value; close(): Promise<void> };

/**
 * Loads a YAML file and follows it. The first load fails like `loadYaml`; later a broken or removed file goes to
 * `onError`, and the last good value stays. With `allowMissing` a removed file is a change to undefined.
 */
export async function watchYaml<Schema extends z.ZodType, Missing extends boolean = false>(
  path: string,
  schema: Schema,
  options: WatchOptions<Missing, YamlValue<Schema, Missing>>,
): Promise<YamlWatch<YamlValue<Schema, Missing>>> {
  const { onChange, onError, settleMs = SETTLE_MS, ...load } = options;
  let value: YamlValue<Schema, Missing>;
  const keep = (next: YamlValue<Schema, Missing>) => {
    value = next;
    onChange(next);
  };
  const reloader = createReloader(path, schema, { ...load, settleMs }, { onChange: keep, onError });
  const watcher = await openWatcher(path, () => reloader.poke(), onError);
  const close = async () => {
    await watcher.close();
    await reloader.close();
  };
  try {
    value = await reloader.load();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get value() {
      return value;
    },
    close,
  };
}
