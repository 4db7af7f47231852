import type { z } from 'zod';
import { ConfigError } from '../config-error.ts';
import { type LoadOptions, readText, valueOfText, type YamlValue } from './load.ts';
import { readSettled } from './settle.ts';

/** What to do with each new state of a file. */
export type Reactions<Value> = { onChange: (value: Value) => void; onError: (error: Error) => void };

export type Reloader<Value> = {
  /** Reads the file at once, as it is. */
  load(): Promise<Value>;
  /** Says that the file may have changed. Pokes while a reload runs make one more reload. */
  poke(): void;
  /** Ends when the reload under way has ended; nothing is told afterwards. */
  close(): Promise<void>;
};

/** Follows one file: reloads it when poked, and tells only good values and what is wrong with others. */
export function createReloader<Schema extends z.ZodType, Missing extends boolean>(
  path: string,
  schema: Schema,
  { settleMs, ...options }: LoadOptions<Missing> & { settleMs: number },
  { onChange, onError }: Reactions<YamlValue<Schema, Missing>>,
): Reloader<YamlValue<Schema, Missing>> {
  const closing = new AbortController();
  let latest: string | undefined;
  let running: Promise<void> | undefined;
  let loading = false;
  let again = false;

  const reload = async () => {
    const text = await readSettled(path, settleMs, closing.signal);
    if (text === latest || closing.signal.aborted) return;
    latest = text;
    onChange(valueOfText(text, path, schema, options));
  };
  const run = async () => {
    do {
      again = false;
      await reload().catch((error: unknown) => {
        if (!closing.signal.aborted) onError(asReloadError(path, error));
      });
    } while (again && !closing.signal.aborted);
    running = undefined;
  };
  return {
    async load() {
      loading = true;
      try {
        latest = await readText(path);
        return valueOfText(latest, path, schema, options);
      } finally {
        loading = false;
        if (again) this.poke();
      }
    },
    poke() {
      again = true;
      if (!loading && !closing.signal.aborted) running ??= run();
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}

function asReloadError(path: string, error: unknown): Error {
  if (error instanceof ConfigError) {
    return new ConfigError(
      `${path} changed and cannot be used; the last good version stays:`,
      error.problems,
      { cause: error },
    );
  }
  return error instanceof Error ? error : new Error(String(error));
}
