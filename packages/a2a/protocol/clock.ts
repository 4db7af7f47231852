/** Time as the package sees it; tests bring their own. */
export interface Clock {
  /** In milliseconds since 1970. */
  now(): number;
  /** Runs the work once, later; gives back what calls it off. Does not keep the process alive. */
  after(delayMs: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
