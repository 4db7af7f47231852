import type { Clock, Timer } from '@trunkline/schedule';
import type { CallOptions } from './types.ts';

const defaultTimeoutMs = 60_000;

/** The time that a call may take. It can be given anew while a stream moves on. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  #timer: Timer;

  constructor({ signal, timeoutMs = defaultTimeoutMs }: CallOptions, clock: Clock) {
    this.#clock = clock;
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
    this.#timer.cancel();
    if (!this.passed) this.#timer = this.#start();
  }

  clear(): void {
    this.#timer.cancel();
  }

  #start(): Timer {
    return this.#clock.setTimer(this.#timeoutMs, () => this.#controller.abort());
  }
}
