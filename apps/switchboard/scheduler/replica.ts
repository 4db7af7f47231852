import { randomUUID } from 'node:crypto';
import type { Bus, Message, Subscription } from '@trunkline/bus';
import type { FireRow } from './ledger.ts';

export interface ReplicaSettings {
  bus: Bus;
  /** The name of this switchboard among those that share the bus. */
  node: string;
  onFire: (row: FireRow) => void;
  /** A one-shot is over. */
  onEnd: (id: string) => Promise<void>;
}

type Shared =
  | { kind: 'fire'; row: FireRow; node: string }
  | { kind: 'end'; id: string; node: string }
  | { kind: 'barrier'; barrier: string };

/** The topic is journalled, and every switchboard reads it from where it was. */
export const sharedTopic = 'schedule.fires';
const catchUpLimitMs = 30_000;

/** Tells the other switchboards what was fired, so that any of them can go on from there with the same history. */
export class Replica {
  readonly #settings: ReplicaSettings;
  readonly #barriers = new Map<string, () => void>();
  #subscription: Subscription | undefined;

  constructor(settings: ReplicaSettings) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const options = { durable: `schedules-${this.#settings.node}`, plugin: 'scheduler' };
    this.#subscription = await this.#settings.bus.subscribe(
      sharedTopic,
      (message) => this.#take(message),
      options,
    );
  }

  async stop(): Promise<void> {
    await this.#subscription?.unsubscribe();
  }

  share(row: FireRow): Promise<void> {
    return this.#publish({ kind: 'fire', row, node: this.#settings.node });
  }

  shareEnd(id: string): Promise<void> {
    return this.#publish({ kind: 'end', id, node: this.#settings.node });
  }

  /** Resolves when everything that was shared so far is known here: a mark sent after it has come back. */
  async catchUp(): Promise<void> {
    const barrier = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new Error(`What others fired was not known within ${catchUpLimitMs / 1000} s.`)),
      catchUpLimitMs,
    );
    this.#barriers.set(barrier, resolve);
    try {
      await this.#publish({ kind: 'barrier', barrier });
      await promise;
    } finally {
      clearTimeout(timer);
      this.#barriers.delete(barrier);
    }
  }

  async #publish(shared: Shared): Promise<void> {
    await this.#settings.bus.publish({ topic: sharedTopic, payload: shared });
  }

  async #take({ payload }: Message): Promise<void> {
    const shared = payload as Shared;
    if (shared.kind === 'barrier') this.#barriers.get(shared.barrier)?.();
    else if (shared.node === this.#settings.node) return;
    else if (shared.kind === 'fire') this.#settings.onFire(shared.row);
    else await this.#settings.onEnd(shared.id);
  }
}
