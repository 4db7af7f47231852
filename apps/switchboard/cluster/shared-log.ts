import { randomUUID } from 'node:crypto';
import type { Bus, Message, Subscription } from '@trunkline/bus';

export interface SharedLogSettings<Entry> {
  bus: Bus;
  /** A journalled topic. */
  topic: string;
  /** Under which this switchboard keeps its place in the log. */
  durable: string;
  /** Handles an entry, its own included: all handle them in the same order. */
  onEntry: (entry: Entry, isOwn: boolean) => void | Promise<void>;
}

const catchUpLimitMs = 30_000;

/** A log that every switchboard on the bus writes to and reads from where it was. */
export class SharedLog<Entry extends object> {
  readonly #settings: SharedLogSettings<Entry>;
  /** Tells own entries from those of others. */
  readonly #origin = randomUUID();
  readonly #barriers = new Map<string, () => void>();
  #subscription: Subscription | undefined;

  constructor(settings: SharedLogSettings<Entry>) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const { bus, topic, durable } = this.#settings;
    this.#subscription = await bus.subscribe(topic, (message) => this.#take(message), {
      durable,
      plugin: 'cluster',
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.unsubscribe();
  }

  /** Resolves when the entry is in the journal. */
  async share(entry: Entry): Promise<void> {
    await this.#publish({ entry });
  }

  /** Resolves when everything that was shared so far has been handled here: a mark sent after it has come back. */
  async catchUp(): Promise<void> {
    const barrier = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const words = `What others wrote to ${this.#settings.topic} was not read within ${catchUpLimitMs / 1000} s.`;
    const timer = setTimeout(() => reject(new Error(words)), catchUpLimitMs);
    this.#barriers.set(barrier, resolve);
    try {
      await this.#publish({ barrier });
      await promise;
    } finally {
      clearTimeout(timer);
      this.#barriers.delete(barrier);
    }
  }

  async #publish(content: { entry: Entry } | { barrier: string }): Promise<void> {
    const { bus, topic } = this.#settings;
    await bus.publish({ topic, payload: JSON.parse(JSON.stringify({ origin: this.#origin, ...content })) });
  }

  async #take({ payload }: Message): Promise<void> {
    const shared = payload as { origin: string; entry?: Entry; barrier?: string };
    if (shared.barrier !== undefined) this.#barriers.get(shared.barrier)?.();
    else if (shared.entry !== undefined)
      await this.#settings.onEntry(shared.entry, shared.origin === this.#origin);
  }
}
