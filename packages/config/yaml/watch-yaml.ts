import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '@trunkline/std';
import { watch } from 'chokidar';
import type { z } from 'zod';
import { ConfigError } from '../config-error.ts';
import type { Environment } from '../environment/environment.ts';
import { namesSecret, secretStoreOf } from '../secrets/references.ts';
import { isMissing, type LoadOptions, readText, valueOfText, type YamlValue } from './load.ts';

// A missing or empty file is most likely being rewritten, so it gets more time.
const PATIENCE = 5;

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
  const follower = new FileFollower({ path, env: options.env, settleMs, parse, onChange, onError });
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

type FollowerSettings<Value> = {
  path: string;
  /** Says which secrets a file may refer to; the process's own when not given. */
  env?: Environment | undefined;
  settleMs: number;
  /** Makes a value of the file's text, or of undefined when there is no file; throws when that cannot be. */
  parse: (text: string | undefined) => Value;
  onChange: (value: Value) => void;
  onError: (error: Error) => void;
  /** Comes after a reload that found no file, when nothing is under way any more. */
  onGone?: () => void;
};

/** How often the secrets are looked at while a file refers to one. */
const SECRETS_MS = 1000;

/**
 * Follows one file: reloads it when poked, and tells only good values and what is wrong with others. A file that refers to
 * secrets is read again when one of them changes.
 */
export class FileFollower<Value> {
  readonly #settings: FollowerSettings<Value>;
  readonly #closing = new AbortController();
  #latest: string | undefined;
  /** Of the secrets; 0 for a file that refers to none. */
  #revision = 0;
  #secretsTimer: NodeJS.Timeout | undefined;
  #loading = false;
  #again = false;
  #running: Promise<void> | undefined;

  constructor(settings: FollowerSettings<Value>) {
    this.#settings = settings;
  }

  /** Reads the file at once, as it is. */
  async load(): Promise<Value> {
    this.#loading = true;
    try {
      this.#latest = await readText(this.#settings.path);
      this.#followSecrets(this.#latest);
      return this.#settings.parse(this.#latest);
    } finally {
      this.#loading = false;
      if (this.#again) this.poke();
    }
  }

  /** Says that the file may have changed. Pokes while it is being read make one more reload. */
  poke(): void {
    this.#again = true;
    if (!this.#loading && !this.#closing.signal.aborted) this.#running ??= this.#run();
  }

  /** Resolves when the reload under way has ended; no callback runs afterwards. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#secretsTimer);
    await this.#running;
  }

  /** Gives whether the secrets that the text refers to may have changed since it was last read. */
  #followSecrets(text: string | undefined): boolean {
    if (text === undefined || !namesSecret(text)) return false;
    const store = secretStoreOf(this.#settings.env);
    this.#secretsTimer ??= pollFile(store.file, () => this.poke());
    const before = this.#revision;
    this.#revision = store.revision();
    return this.#revision !== before;
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      await this.#reload();
    }
    this.#running = undefined;
    if (this.#latest === undefined) this.#settings.onGone?.();
  }

  async #reload(): Promise<void> {
    const { path, settleMs, parse, onChange, onError } = this.#settings;
    try {
      const text = await readSettled(path, settleMs, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      const changed = this.#followSecrets(text);
      if (text === this.#latest && !changed) return;
      this.#latest = text;
      onChange(parse(text));
    } catch (error) {
      if (!this.#closing.signal.aborted) onError(asReloadError(path, error));
    }
  }
}

/** Unlike `watchFile` it counts what changes from this moment on: that one first looks some time later. */
function pollFile(path: string, onChange: () => void): NodeJS.Timeout {
  const look = () => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':');
  };
  let seen = look();
  const timer = setInterval(() => {
    const now = look();
    if (now === seen) return;
    seen = now;
    onChange();
  }, SECRETS_MS);
  return timer.unref();
}

function asReloadError(path: string, cause: unknown): Error {
  if (!(cause instanceof ConfigError)) return toError(cause);
  const headline = `${path} changed and cannot be used; the last good version stays:`;
  return new ConfigError(headline, cause.problems, { cause });
}

/** Reads a file once it has stopped changing for `settleMs`; undefined when it stays missing. */
async function readSettled(path: string, settleMs: number, signal: AbortSignal): Promise<string | undefined> {
  let seen = await markOf(path);
  for (let quiet = 0; ; quiet++) {
    if (quiet >= (seen.content ? 1 : PATIENCE)) {
      const text = await readText(path);
      if ((await markOf(path)).mark === seen.mark) return text;
    }
    await delay(settleMs, undefined, { signal });
    const now = await markOf(path);
    if (now.mark !== seen.mark) quiet = -1;
    seen = now;
  }
}

// Differs whenever the file was written, replaced or removed.
async function markOf(path: string): Promise<{ mark: string; content: boolean }> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return { mark: [dev, ino, size, mtimeNs, ctimeNs].join(':'), content: size > 0n };
  } catch (error) {
    if (isMissing(error)) return { mark: 'missing', content: false };
    throw error;
  }
}

type Watcher = { close(): Promise<void> };

/** Tells of everything that happens at a path, or directly inside it when it is a directory; it may be missing still. */
export async function openWatcher(
  path: string,
  onEvent: (changed: string) => void,
  onError: (error: Error) => void,
): Promise<Watcher> {
  const root = resolve(path);
  // Whether a file is whole is decided by reading it, so every event is wanted, at once.
  const watcher = watch(root, {
    ignoreInitial: true,
    atomic: false,
    ignored: (other, stats) =>
      !concerns(root, other) || (stats?.isDirectory() === true && isInside(root, other)),
  });
  watcher.on('all', (_, changed) => onEvent(changed));
  watcher.on('error', (error) => onError(toError(error)));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
    watcher.once('error', () => ready());
  });
  return { close: () => watcher.close() };
}

// The path itself, what lies directly inside it, and the directories above it, which show when it is created.
function concerns(root: string, path: string): boolean {
  return path === root || isInside(root, path) || root.startsWith(path.endsWith(sep) ? path : path + sep);
}

// A directory there is left out with all it holds, which may be a hundred thousand files that would be looked at one by one.
function isInside(root: string, path: string): boolean {
  return dirname(path) === root;
}
