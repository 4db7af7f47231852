import type { Delivery } from '@trunkline/bus';

/**
 * What cuts a run short: the bus that will not wait any longer, or that begins to stop while the run waits for a place or
 * for a person, which it does again after the start. Given up when the run is over, as the bus outlives many thousands of them.
 */
export class Ending implements Disposable {
  readonly #delivery: Delivery;
  readonly #cut = new AbortController();
  #isWaiting = false;

  constructor(delivery: Delivery) {
    this.#delivery = delivery;
    delivery.signal.addEventListener('abort', this.#look);
    delivery.stopping.addEventListener('abort', this.#look);
    this.#look();
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  /** Says that the run waits for a place or a person, or no longer does. */
  waits(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#look();
  }

  [Symbol.dispose](): void {
    this.#delivery.signal.removeEventListener('abort', this.#look);
    this.#delivery.stopping.removeEventListener('abort', this.#look);
  }

  readonly #look = (): void => {
    const { signal, stopping } = this.#delivery;
    if (signal.aborted) this.#cut.abort(signal.reason);
    else if (this.#isWaiting && stopping.aborted) this.#cut.abort(new Error('The switchboard stops.'));
  };
}
