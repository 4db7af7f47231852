/** Lets the turns of one session run one after the other, so that each sees what the one before it said. */
export class SessionLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** How many sessions have a turn that runs or waits. */
  get size(): number {
    return this.#tails.size;
  }

  /** Resolves when the turns before have ended, with what must be called at the end of this one. */
  async acquire(sessionId: string): Promise<() => void> {
    const before = this.#tails.get(sessionId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(sessionId, promise);
    await before;
    return () => {
      if (this.#tails.get(sessionId) === promise) this.#tails.delete(sessionId);
      resolve();
    };
  }

  /** Resolves when no turn runs or waits any more. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
