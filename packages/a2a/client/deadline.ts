import type { CallOptions } from './types.ts';

const defaultTimeoutMs = 60_000;

/** The time that a call may take. It can be given anew while a stream moves on. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout;

  constructor({ signal, timeoutMs = defaultTimeoutMs }: CallOptions) {
    this.#caller = signal;
    this.#timeoutMs = timeoutMs;
    this.signal =
      signal === undefined ? this.#controller.signal : AbortSignal.any([signal, this.#controller.signal]);
    this.#timer = this.#start();
  }

  get passed(): boolean {
    return this.#controller.signal.aborted;
  }

  get abortedByCaller(): boolean {
    return this.#caller?.aborted === true;
  }

  extend(): void {
    clearTimeout(this.#timer);
    if (!this.passed) this.#timer = this.#start();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => this.#controller.abort(), this.#timeoutMs);
  }
}
