const windowMs = 60_000;

/** Lets something happen so many times in any sixty seconds. */
export class FireLimit {
  readonly #most: number;
  readonly #now: () => number;
  #times: number[] = [];

  constructor(most: number, now: () => number = Date.now) {
    this.#most = most;
    this.#now = now;
  }

  /** Says whether there is room, and takes it. */
  take(): boolean {
    const now = this.#now();
    this.#times = this.#times.filter((time) => time > now - windowMs);
    if (this.#times.length >= this.#most) return false;
    this.#times.push(now);
    return true;
  }
}
