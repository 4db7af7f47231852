import { createHash } from 'node:crypto';
import { type Bus, type Delivery, type Draft, escapeSegment, type Message } from '@trunkline/bus';
import { type Environment, type Logger, readVariable } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';
import { derivedId } from '../core/messages.ts';
import type { AgentLimiter } from './agent-limiter.ts';
import type { SkillExecutor } from './executor.ts';
import { isPending } from './registry.ts';
import type { Dispatch } from './request.ts';

const builtIn: Record<string, number> = { pr_review: 30_000, bug_triage: 30_000, security_triage: 60_000 };

const mostKeys = 10_000;

/** Concurrency of all agents together. */
export const atOnce = 1024;

/** Above this, work goes to the agents' queues, so that the dispatcher always has room. */
const queuedFrom = 768;

/** Interfaces whose caller waits, and may itself be an agent that holds a slot. */
const awaitedInterfaces: ReadonlySet<string> = new Set(['a2a', 'openai']);

export interface AgentQueueSettings {
  bus: Bus;
  /** Includes messages that wait for a slot of their agent. */
  concurrency: number;
  /** `queuedAt` is in milliseconds since 1970. */
  handle(agent: string, request: Message, delivery: Delivery, queuedAt: number): Promise<void>;
  store: { keepQueue(agent: string): void; queues(): string[] };
  logger: Logger;
}

const requestTopic = 'agent.skill.request';

/**
 * A durable queue for each agent: accepted work waits there as long as it takes, without holding up other agents. Every
 * switchboard on the bus reads all queues.
 */
export function createAgentQueues({ logger, bus, concurrency, handle, store }: AgentQueueSettings) {
  const open = new Map<string, Promise<void>>();

  /** Also reads the queues that existed before the restart. */
  async function start(agents: readonly string[]): Promise<void> {
    await Promise.all([...new Set([...agents, ...store.queues()])].map((one) => ensure(one)));
  }

  /** Subscribes to the queue of an agent; a new one starts empty. */
  function ensure(agent: string): Promise<void> {
    const known = open.get(agent);
    if (known !== undefined) return known;
    const opening = subscribe(agent).catch((error: unknown) => {
      open.delete(agent);
      throw error;
    });
    open.set(agent, opening);
    return opening;
  }

  /** As `ensure`, without waiting. */
  function ensureAll(agents: readonly string[]): void {
    for (const agent of agents) {
      ensure(agent).catch((error: unknown) =>
        logger.warn(
          { err: error, agent },
          'failed to open the queue of an agent; retrying when it is needed',
        ),
      );
    }
  }

  /** Appends a request; the same request is stored once. */
  async function add(agent: string, message: Message): Promise<void> {
    const { id, correlationId, payload, source, reply, principal } = message;
    await ensure(agent);
    const draft: Draft = {
      topic: topicOf(agent),
      id: derivedId(id, 'queue'),
      correlationId,
      parentId: id,
      payload,
    };
    await bus.publish({ ...draft, source, reply, principal });
  }

  async function subscribe(agent: string): Promise<void> {
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

  return { start, ensure, ensureAll, add };
}

export type AgentQueues = ReturnType<typeof createAgentQueues>;

/** Restores the request as it was published. */
function requestOf({ parentId = '', ...message }: Message): Message {
  return { ...message, id: parentId, topic: requestTopic };
}

function topicOf(agent: string): string {
  return `agent.skill.queue.${escapeSegment(agent)}`;
}

/** Durable names are short and plain; agent names may be neither. */
function durableOf(agent: string): string {
  const isPlain = /^[A-Za-z0-9_-]{1,50}$/.test(agent);
  return `queue-${isPlain ? agent : createHash('sha256').update(agent).digest('hex').slice(0, 32)}`;
}

export interface Situation {
  limiter: AgentLimiter;
  /** Requests under way, besides those from queues. */
  taken: number;
  /** In milliseconds since 1970. */
  startedAt: number;
}

/** Why a request must wait in its agent's queue; undefined when it can run. */
export function reasonToQueue(
  executor: SkillExecutor,
  dispatch: Dispatch,
  { limiter, taken, startedAt }: Situation,
): string | undefined {
  const { agent } = executor;
  if (isPending(executor, dispatch.skill)) return `${agent} has not answered since the start`;
  if (taken > queuedFrom) return 'too much work is under way';
  if (isAwaitedBySomebody(dispatch, startedAt) || !limiter.isCrowded(agent)) return undefined;
  return `${agent} has more to do than it can take on (SWITCHBOARD_EXECUTOR_CONCURRENCY)`;
}

/** Callers from before the start are gone. */
export function isAwaitedBySomebody({ message }: Dispatch, startedAt: number): boolean {
  return awaitedInterfaces.has(message.source?.interface ?? '') && message.timestamp >= startedAt;
}

/** Keeps a skill from running again at once on the same state of the same thing. */
export class Cooldowns {
  readonly #until = new BoundedMap<string, number>(mostKeys);
  readonly #env: Environment;
  readonly #now: () => number;

  constructor(env: Environment, now: () => number = Date.now) {
    this.#env = env;
    this.#now = now;
  }

  /** Starts the cooldown, or returns why the skill may not run yet. */
  take({ skill, repo }: Dispatch): string | undefined {
    if (repo === undefined) return undefined;
    const pause = this.#pauseOf(skill);
    if (pause <= 0) return undefined;
    const key = `${skill} ${repo.owner}/${repo.repo}#${repo.number ?? ''}@${repo.sha?.slice(0, 7) ?? ''}`;
    const left = (this.#until.get(key) ?? 0) - this.#now();
    if (left > 0) return `${key} ran just now; it may run again in ${Math.ceil(left / 1000)} s`;
    this.#until.set(key, this.#now() + pause);
    return undefined;
  }

  #pauseOf(skill: string): number {
    const name = `SWITCHBOARD_COOLDOWN_MS_${skill.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
    const given = Number(readVariable(name, this.#env) ?? Number.NaN);
    return Number.isFinite(given) ? given : (builtIn[skill] ?? 0);
  }
}
