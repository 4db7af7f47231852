const mostHops = 12;
const windowMs = 30_000;
const mostCorrelations = 10_000;

/** Counts how often one correlation was handed on lately, so that routes that feed each other come to an end. */
export class HopLimit {
  readonly #hops = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Whether one more hop is allowed; counts it if so. */
  take(correlationId: string): boolean {
    const recent = (this.#hops.get(correlationId) ?? []).filter((at) => at > this.#now() - windowMs);
    const isAllowed = recent.length < mostHops;
    if (isAllowed) recent.push(this.#now());
    this.#hops.delete(correlationId);
    this.#hops.set(correlationId, recent);
    const oldest = this.#hops.keys().next().value;
    if (this.#hops.size > mostCorrelations && oldest !== undefined) this.#hops.delete(oldest);
    return isAllowed;
  }
}
