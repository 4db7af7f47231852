const mostKeys = 1000;

/** Notices when something comes too often, once for each storm; a storm is over when nothing comes for the whole window. */
export class AlertRateLimiter {
  readonly #count: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #storms = new Map<string, { times: number[]; isTold: boolean }>();

  constructor(count: number, windowMs: number, now: () => number) {
    this.#count = count;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  /** True for the one that makes it a storm. */
  notice(key: string): boolean {
    const now = this.#now();
    const known = this.#storms.get(key);
    const times = [...(known?.times ?? []).filter((time) => time > now - this.#windowMs), now].slice(
      -this.#count,
    );
    const isTold = (known?.isTold ?? false) && times.length > 1;
    const isStorm = !isTold && times.length >= this.#count;
    this.#storms.delete(key);
    this.#storms.set(key, { times, isTold: isTold || isStorm });
    const [oldest] = this.#storms.keys();
    if (this.#storms.size > mostKeys && oldest !== undefined) this.#storms.delete(oldest);
    return isStorm;
  }
}
