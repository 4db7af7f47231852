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

/** A signal that comes with another one, or when the time is over. */
export class TimeLimit implements Disposable {
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(outer: AbortSignal, milliseconds: number) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#end(), milliseconds).unref();
    outer.addEventListener('abort', this.#follow);
    if (outer.aborted) this.#follow();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time was over before the other signal came. */
  get isOver(): boolean {
    return this.#isOver;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#follow);
  }

  #end(): void {
    if (this.signal.aborted) return;
    this.#isOver = true;
    this.#controller.abort(new DOMException('The time for it is over.', 'TimeoutError'));
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer.reason);
}
