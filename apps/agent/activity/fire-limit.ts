const windowMs = 60_000;

/** Allows a number of turns in any sixty seconds. */
export class TurnRateLimit {
  readonly #max: number;
  readonly #now: () => number;
  #times: number[] = [];

  constructor(max: number, now: () => number = Date.now) {
    this.#max = max;
    this.#now = now;
  }

  /** Counts a turn. Returns false when the limit is reached. */
  take(): boolean {
    const now = this.#now();
    this.#times = this.#times.filter((time) => time > now - windowMs);
    if (this.#times.length >= this.#max) return false;
    this.#times.push(now);
    return true;
  }
}
