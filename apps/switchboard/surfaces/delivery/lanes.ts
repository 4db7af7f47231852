/** Keeps order within a lane while lanes go on side by side. */
export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Begins the work when everything before it in the lane has ended, well or not. */
  run<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(lane) ?? Promise.resolve();
    const result = before.then(work, work);
    this.#last.set(lane, result);
    const forget = () => {
      if (this.#last.get(lane) === result) this.#last.delete(lane);
    };
    result.then(forget, forget);
    return result;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
