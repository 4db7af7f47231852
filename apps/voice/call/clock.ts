import { type Clock, systemClock } from '@trunkline/schedule';

/** A clock that never jumps. */
export const steadyClock: Clock = { ...systemClock, now: () => performance.now() };

/** A timer that can be set again. */
export class Alarm {
  readonly #clock: Clock;
  #timer: { cancel(): void } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  set(delayMs: number, run: () => void): void {
    this.cancel();
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      run();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
