/** Lets a number of pieces of work run at once; the others wait in line. */
export class Lane {
  readonly #most: number;
  #running = 0;
  #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get idle(): boolean {
    return this.#running === 0;
  }

  async run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#most) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#waiting = this.#waiting.filter((waiter) => waiter !== go);
        reject(signal.reason as Error);
      };
      const go = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(go);
    });
  }

  /** The place goes to the next in line, if there is one. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
