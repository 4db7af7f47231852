import { Breaker } from './breaker.ts';

interface Waiting {
  /** Goes before all who come from outside: it was in already. */
  isBack?: boolean;
  /** Waits no longer than this. */
  waitMs?: number | undefined;
}

/** The places of one executor, and those who wait for one. */
export class Lane {
  readonly breaker: Breaker;
  readonly #places: number;
  readonly #returning = new Set<() => void>();
  readonly #coming = new Set<() => void>();
  /** Work that was taken on and has not ended, at work, waiting or lent. */
  occupancy = 0;
  /** Callers that wait for their answer at a door of this process. */
  callers = 0;
  #running = 0;

  constructor(places: number, now: () => number) {
    this.#places = places;
    this.breaker = new Breaker(now);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#returning.size + this.#coming.size;
  }

  get isFull(): boolean {
    return this.#running >= this.#places;
  }

  /** Resolves with true inside, with false when it waited in vain; rejects when the signal comes first. */
  async enter(signal: AbortSignal, { isBack = false, waitMs }: Waiting = {}): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.isFull) {
      this.#running += 1;
      return true;
    }
    return await this.#wait(isBack ? this.#returning : this.#coming, signal, waitMs);
  }

  /** Enters beyond the number of places; nobody else does until it is back below. */
  force(): void {
    this.#running += 1;
  }

  /** The place goes straight to the one who waits longest. */
  leave(): void {
    const queue = this.#returning.size > 0 ? this.#returning : this.#coming;
    const [next] = queue;
    if (next === undefined || this.#running > this.#places) {
      this.#running -= 1;
      return;
    }
    queue.delete(next);
    next();
  }

  #wait(queue: Set<() => void>, signal: AbortSignal, waitMs: number | undefined): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = () => {
        queue.delete(enter);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      const enter = () => {
        end();
        resolve(true);
      };
      const abort = () => {
        end();
        reject(signal.reason);
      };
      const giveUp = () => {
        end();
        resolve(false);
      };
      const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs);
      queue.add(enter);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}
