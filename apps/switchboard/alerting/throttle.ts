const mostKeys = 1000;

/** Lets one through for each key and time, and counts what it held back. */
export class Throttle {
  readonly #everyMs: number;
  readonly #now: () => number;
  readonly #last = new Map<string, { at: number; heldBack: number }>();

  constructor(everyMs: number, now: () => number) {
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** How many were held back since the last that was let through; undefined when this one is held back too. */
  pass(key: string): number | undefined {
    const last = this.#last.get(key);
    const now = this.#now();
    if (last !== undefined && now - last.at < this.#everyMs) {
      last.heldBack += 1;
      return undefined;
    }
    this.#last.delete(key);
    this.#last.set(key, { at: now, heldBack: 0 });
    const [oldest] = this.#last.keys();
    if (this.#last.size > mostKeys && oldest !== undefined) this.#last.delete(oldest);
    return last?.heldBack ?? 0;
  }
}
