/** Turns in one go before timers and sockets get theirs, and handlers started in one turn. */
const turnsPerSlice = 100;
const handlersPerTurn = 50;

export interface Runnable {
  /** Starts at most `budget` handlers and says whether more could start at once. */
  run(budget: number): boolean;
}

/**
 * Starts handlers after the turn in which something was published, never inside it:
 * a handler that publishes returns before the next one starts, so nothing nests, and a flood leaves room for I/O.
 */
export class DispatchLoop {
  #ready: Runnable[] = [];
  #next = 0;
  #scheduled = false;

  add(runnable: Runnable): void {
    this.#ready.push(runnable);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#drain);
  }

  readonly #drain = (): void => {
    try {
      for (let turn = 0; turn < turnsPerSlice && this.#next < this.#ready.length; turn += 1) this.#turn();
    } finally {
      this.#ready.splice(0, this.#next);
      this.#next = 0;
      this.#scheduled = this.#ready.length > 0;
      if (this.#scheduled) setImmediate(this.#drain);
    }
  };

  /** Who has more to do queues up again behind the others. */
  #turn(): void {
    const runnable = this.#ready[this.#next];
    this.#next += 1;
    if (runnable?.run(handlersPerTurn)) this.#ready.push(runnable);
  }
}
