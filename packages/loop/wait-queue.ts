import type { ModelWait } from '@trunkline/llm';
import type { WaitEvent } from './events.ts';

/** Waits of a call of the model, on their way to whoever reads the turn. */
export class WaitQueue {
  readonly #events: WaitEvent[] = [];
  #arrival = Promise.withResolvers<false>();

  push(wait: ModelWait): void {
    this.#events.push({ type: 'wait', ...wait });
    this.#arrival.resolve(false);
  }

  /** Tells of the waits until the work is done, then gives its result. */
  async *until<Result>(work: Promise<Result>): AsyncGenerator<WaitEvent, Result> {
    const done = work.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([done, this.#arrival.promise]))) {
      this.#arrival = Promise.withResolvers();
      yield* this.#events.splice(0);
    }
    return await work;
  }
}
