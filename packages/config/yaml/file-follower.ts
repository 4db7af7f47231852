import { toError } from '@trunkline/std';
import { ConfigError } from '../config-error.ts';
import { readText } from './load.ts';
import { readSettled } from './settle.ts';

export type FollowerSettings<Value> = {
  path: string;
  settleMs: number;
  /** Makes a value of the file's text, or of undefined when there is no file; throws when that cannot be. */
  parse: (text: string | undefined) => Value;
  onChange: (value: Value) => void;
  onError: (error: Error) => void;
  /** Comes after a reload that found no file, when nothing is under way any more. */
  onGone?: () => void;
};

/** Follows one file: reloads it when poked, and tells only good values and what is wrong with others. */
export class FileFollower<Value> {
  readonly #settings: FollowerSettings<Value>;
  readonly #closing = new AbortController();
  #latest: string | undefined;
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

  /** Ends when the reload under way has ended; nothing is told afterwards. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
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
      if (text === this.#latest || this.#closing.signal.aborted) return;
      this.#latest = text;
      onChange(parse(text));
    } catch (error) {
      if (!this.#closing.signal.aborted) onError(asReloadError(path, error));
    }
  }
}

function asReloadError(path: string, cause: unknown): Error {
  if (!(cause instanceof ConfigError)) return toError(cause);
  const headline = `${path} changed and cannot be used; the last good version stays:`;
  return new ConfigError(headline, cause.problems, { cause });
}
