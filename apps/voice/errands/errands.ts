import { randomUUID } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import { anonymous, type Principal } from '@trunkline/identity';
import { questionKey } from '@trunkline/tools';
import type { DeliveryPort } from '../delivery/delivery.ts';
import { wordsOf } from '../errors.ts';
import type { Errand, ErrandStore } from './errand-store.ts';

export interface ErrandsOptions {
  store: ErrandStore;
  delivery: DeliveryPort;
  /** Does the work and gives what to tell the user. */
  work(errand: Errand, signal: AbortSignal): Promise<string>;
  logger: Logger;
}

const mostAtOnce = 4;
const mostAttempts = 2;
const sender = 'Your research';

/** Work that goes on while the conversation does; what comes of it is delivered when it is done. */
export class Errands {
  readonly #options: ErrandsOptions;
  readonly #controller = new AbortController();
  readonly #running = new Map<Promise<void>, Errand>();

  constructor(options: ErrandsOptions) {
    this.#options = options;
  }

  /** Begins an errand, unless the same one is under way; false when too many are. */
  begin(userId: string, query: string, principal: Principal = anonymous): boolean {
    if (this.#isUnderWay(userId, query)) return true;
    if (this.#running.size >= mostAtOnce) return false;
    this.#start({ id: randomUUID(), userId, principal, query, attempts: 0 });
    return true;
  }

  /** Takes up what a restart has interrupted. */
  resume(): void {
    for (const errand of this.#options.store.all()) {
      if (errand.attempts < mostAttempts) this.#start(errand);
      else this.#finish(errand, `I had to give up on "${errand.query}": I was interrupted twice.`);
    }
  }

  /** Stops all work; what was not done is taken up at the next start. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await Promise.all(this.#running.keys());
  }

  #isUnderWay(userId: string, query: string): boolean {
    const key = questionKey(query);
    const errands = [...this.#running.values()];
    return errands.some((errand) => errand.userId === userId && questionKey(errand.query) === key);
  }

  #start(errand: Errand): void {
    const begun = { ...errand, attempts: errand.attempts + 1 };
    this.#options.store.save(begun);
    const running = this.#run(begun).finally(() => this.#running.delete(running));
    this.#running.set(running, begun);
  }

  async #run(errand: Errand): Promise<void> {
    const text = await this.#work(errand);
    if (this.#controller.signal.aborted) return;
    try {
      this.#finish(errand, text);
    } catch (error) {
      // It stays in the store, and is taken up at the next start.
      this.#options.logger.error({ err: error }, 'what came of an errand was not kept');
    }
  }

  async #work(errand: Errand): Promise<string> {
    try {
      return await this.#options.work(errand, this.#controller.signal);
    } catch (error) {
      if (!this.#controller.signal.aborted) this.#options.logger.warn({ err: error }, 'an errand failed');
      return `I could not finish "${errand.query}": ${wordsOf(error)}`;
    }
  }

  #finish({ id, userId }: Errand, text: string): void {
    this.#options.delivery.deliver(userId, { from: sender, text, policy: 'next_silence' });
    this.#options.store.remove(id);
  }
}
