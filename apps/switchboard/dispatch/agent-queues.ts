import { createHash } from 'node:crypto';
import { type Bus, type Delivery, type Draft, escapeSegment, type Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { derivedId } from '../core/derived-id.ts';

export interface AgentQueueSettings {
  bus: Bus;
  /** Messages of one queue that are handled at once, those that wait for a place of their agent included. */
  concurrency: number;
  /** Gets the request as it was published; `queuedAt` is in milliseconds since 1970. */
  handle(agent: string, request: Message, delivery: Delivery, queuedAt: number): Promise<void>;
  store: { keepQueue(agent: string): void; queues(): string[] };
  logger: Logger;
}

const requestTopic = 'agent.skill.request';

/**
 * A queue in the journal for each agent: what is accepted and cannot be taken on now waits there, as long as it takes,
 * and holds up no other agent's work. Every switchboard on the same bus reads the queues of all agents.
 */
export class AgentQueues {
  readonly #settings: AgentQueueSettings;
  readonly #open = new Map<string, Promise<void>>();

  constructor(settings: AgentQueueSettings) {
    this.#settings = settings;
  }

  /** Reads the queues of these agents, and of those that had one before the restart. */
  async start(agents: readonly string[]): Promise<void> {
    await Promise.all(
      [...new Set([...agents, ...this.#settings.store.queues()])].map((one) => this.ensure(one)),
    );
  }

  /** Reads the queue of an agent from now on; one that is new begins empty. */
  ensure(agent: string): Promise<void> {
    const known = this.#open.get(agent);
    if (known !== undefined) return known;
    const opening = this.#subscribe(agent).catch((error: unknown) => {
      this.#open.delete(agent);
      throw error;
    });
    this.#open.set(agent, opening);
    return opening;
  }

  /** As `ensure`, for agents that are needed only when there is work for them. */
  ensureAll(agents: readonly string[]): void {
    const { logger } = this.#settings;
    for (const agent of agents) {
      this.ensure(agent).catch((error: unknown) =>
        logger.warn(
          { err: error, agent },
          'failed to open the queue of an agent; retrying when it is needed',
        ),
      );
    }
  }

  /** Puts a request behind the others of its agent. The same request twice is kept once. */
  async add(agent: string, { id, correlationId, payload, source, reply }: Message): Promise<void> {
    await this.ensure(agent);
    const draft: Draft = {
      topic: topicOf(agent),
      id: derivedId(id, 'queue'),
      correlationId,
      parentId: id,
      payload,
    };
    await this.#settings.bus.publish({ ...draft, source, reply });
  }

  async #subscribe(agent: string): Promise<void> {
    const { bus, concurrency, handle, store } = this.#settings;
    const durable = durableOf(agent);
    store.keepQueue(agent);
    await bus.subscribe(
      topicOf(agent),
      (message, delivery) => handle(agent, requestOf(message), delivery, message.timestamp),
      {
        durable,
        group: durable,
        concurrency,
        queueLimit: concurrency * 2,
        explicitBegin: true,
        plugin: 'dispatcher',
      },
    );
  }
}

/** The request as it stood on its own topic. */
function requestOf({ parentId = '', ...message }: Message): Message {
  return { ...message, id: parentId, topic: requestTopic };
}

function topicOf(agent: string): string {
  return `agent.skill.queue.${escapeSegment(agent)}`;
}

/** Names of durable subscriptions are short and plain; names of agents may be neither. */
function durableOf(agent: string): string {
  const isPlain = /^[A-Za-z0-9_-]{1,50}$/.test(agent);
  return `queue-${isPlain ? agent : createHash('sha256').update(agent).digest('hex').slice(0, 32)}`;
}
