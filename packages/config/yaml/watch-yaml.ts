import type { z } from 'zod';
import { FileFollower } from './file-follower.ts';
import { type LoadOptions, valueOfText, type YamlValue } from './load.ts';
import { openWatcher } from './watcher.ts';

/** How long a file must stay as it is before it counts as written. */
export const SETTLE_MS = 200;

export type WatchOptions<Missing extends boolean, Value> = LoadOptions<Missing> & {
  onChange: (value: Value) => void;
  onError: (error: Error) => void;
  settleMs?: number;
};

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
  const { onError, settleMs = SETTLE_MS } = options;
  const parse = (text: string | undefined) => valueOfText(text, path, schema, options);
  const onChange = (value: YamlValue<Schema, Missing>) => {
    watch.value = value;
    options.onChange(value);
  };
  const follower = new FileFollower({ path, settleMs, parse, onChange, onError });
  const watcher = await openWatcher(path, () => follower.poke(), onError);
  const close = async () => {
    await watcher.close();
    await follower.close();
  };
  const watch: { value: YamlValue<Schema, Missing>; close(): Promise<void> } = {
    value: await closeOnFailure(follower.load(), close),
    close,
  };
  return watch;
}

/** What a promise gives; when it fails, something is closed before the failure goes on. */
export async function closeOnFailure<Value>(
  promise: Promise<Value>,
  close: () => Promise<void>,
): Promise<Value> {
  try {
    return await promise;
  } catch (error) {
    await close();
    throw error;
  }
}
