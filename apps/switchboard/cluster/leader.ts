import type { Bus, Lease } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Plugin } from '../core/plugin.ts';

/** Whether this switchboard is the one that keeps time for all that share the bus. */
export interface Leader {
  isLeader(): boolean;
  /** Asks the store and rejects when another leads by now; questions asked at once share one answer. */
  confirm(): Promise<number>;
  /** Tells the token of each term that begins, and undefined when one ends. */
  onChange(listener: (token: number | undefined) => void): void;
}

/** Holds the lease, or waits for it. With the embedded bus it is always held. */
export class LeaderPlugin implements Plugin, Leader {
  readonly name = 'leader';
  readonly #ttlMs: number;
  readonly #listeners: ((token: number | undefined) => void)[] = [];
  #lease: Lease | undefined;
  #asking: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  async start({ bus, logger }: { bus: Bus; logger: Logger }): Promise<void> {
    const onChange = (token: number | undefined) => {
      logger.info(
        { term: token },
        token === undefined ? 'another switchboard leads' : 'this switchboard leads',
      );
      for (const listener of this.#listeners) listener(token);
    };
    this.#lease = await bus.lease('leader', { ttlMs: this.#ttlMs, onChange });
  }

  async stop(): Promise<void> {
    await this.#lease?.release();
  }

  isLeader(): boolean {
    return this.#lease?.token !== undefined;
  }

  /** A question under way may have been answered before its sender asked, so it waits for the one after it. */
  confirm(): Promise<number> {
    if (this.#asking === undefined) return this.#ask();
    this.#next ??= this.#asking.then(
      () => this.#askNext(),
      () => this.#askNext(),
    );
    return this.#next;
  }

  onChange(listener: (token: number | undefined) => void): void {
    this.#listeners.push(listener);
    if (this.#lease?.token !== undefined) listener(this.#lease.token);
  }

  #askNext(): Promise<number> {
    this.#next = undefined;
    return this.#ask();
  }

  #ask(): Promise<number> {
    const lease = this.#lease;
    if (lease === undefined) return Promise.reject(new Error('The lease is not held yet.'));
    this.#asking = lease.confirm().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }
}
