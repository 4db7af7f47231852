import { type A2aClient, createA2aClient, type ExternalAgent, type RemoteCard } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import type { Sighting } from '../api-types.ts';
import type { AgentLimiter } from '../dispatch/agent-limiter.ts';
import type { OfferedSkill, SkillExecutor } from '../dispatch/executor.ts';
import type { ExecutorRegistry, SkillStore } from '../dispatch/registry.ts';
import { createRemoteExecutor, type RemoteMemory } from './remote-executor.ts';

export interface BrokerSettings {
  agents: () => readonly ExternalAgent[];
  /** Services that start beside this one and will register. */
  expected: () => readonly string[];
  store: SkillStore;
  registry: ExecutorRegistry;
  limiter: AgentLimiter;
  timeoutMs: number;
  memory: RemoteMemory;
  isApprover: (principal: Principal) => boolean;
  logger: Logger;
  client?: A2aClient;
  heartbeatMs?: number;
}

const cardTimeoutMs = 10_000;
const heartbeatMs = 60_000;
/** Retry delay for an agent that has not answered since the start; doubles each time. */
const firstRetryMs = 1000;
const longestRetryMs = 5000;

/** Registers the agents of `agents.yaml` and `agents.d/`, and fetches each card every minute. */
export class SkillBroker {
  readonly #settings: BrokerSettings;
  readonly #client: A2aClient;
  readonly #cards = new Map<string, RemoteCard>();
  readonly #sightings = new Map<string, Sighting>();
  readonly #closing = new AbortController();
  readonly #retries = new Map<string, { timer: NodeJS.Timeout; count: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: BrokerSettings) {
    this.#settings = settings;
    this.#client = settings.client ?? createA2aClient();
  }

  start(): void {
    this.refresh();
    this.#timer = setInterval(() => this.refresh(), this.#settings.heartbeatMs ?? heartbeatMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { timer } of this.#retries.values()) clearTimeout(timer);
    this.#closing.abort();
  }

  /** Registers the agents that the files list now, and fetches their cards. */
  refresh(): void {
    if (this.#closing.signal.aborted) return;
    this.#register();
    for (const agent of this.#settings.agents()) void this.#sight(agent);
  }

  sighting(name: string): Sighting | undefined {
    return this.#sightings.get(name);
  }

  async #sight({ name, agent }: ExternalAgent): Promise<void> {
    const options = { signal: this.#closing.signal, timeoutMs: cardTimeoutMs };
    try {
      const card = await this.#client.card(agent, options);
      this.#cards.set(name, card);
      this.#keep(name, card);
      clearTimeout(this.#retries.get(name)?.timer);
      this.#retries.delete(name);
      this.#sightings.set(name, { reachable: true, at: Date.now() });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const words = errorMessage(error);
      this.#sightings.set(name, { reachable: false, at: Date.now(), error: words });
      this.#settings.logger.warn({ agent: name }, words);
      if (!this.#cards.has(name)) this.#sightAgain(name);
    }
    this.#register();
  }

  /** Work may be waiting for its card, so the next heartbeat is too late. */
  #sightAgain(name: string): void {
    const { timer: last, count = 0 } = this.#retries.get(name) ?? {};
    clearTimeout(last);
    const pause = Math.min(firstRetryMs * 2 ** count, longestRetryMs);
    const retry = () => {
      const entry = this.#settings.agents().find((agent) => agent.name === name);
      if (entry === undefined) this.#retries.delete(name);
      else void this.#sight(entry);
    };
    this.#retries.set(name, { timer: setTimeout(retry, pause).unref(), count: count + 1 });
  }

  #keep(name: string, { skills }: RemoteCard): void {
    const { store, logger } = this.#settings;
    try {
      store.keep(
        'a2a',
        name,
        skills.map(({ id, description }) => ({ id, description })),
      );
    } catch (error) {
      logger.warn({ err: error, agent: name }, 'failed to store the skills of an agent');
    }
  }

  #register(): void {
    const { agents, expected, registry } = this.#settings;
    const listed = agents();
    const missing = expected().filter((name) => !listed.some((entry) => entry.name === name));
    registry.replace('broker', [
      ...listed.map((entry) => this.#executorOf(entry)),
      ...missing.flatMap((name) => this.#absent(name)),
    ]);
  }

  /** A peer that had skills before the restart and has not started yet: work for it waits. */
  #absent(name: string): SkillExecutor[] {
    const skills = skillsOf([], this.#settings.store.recall<CardSkill>('a2a', name), true);
    if (skills.length === 0) return [];
    const execute = async () => {
      throw new Error(`${name} has not started yet; try again later`);
    };
    return [{ agent: name, type: 'a2a', skills, execute }];
  }

  #executorOf({ name, agent, streaming, skills, chain }: ExternalAgent): SkillExecutor {
    const card = this.#cards.get(name);
    const { registry, limiter, timeoutMs, memory, store, isApprover } = this.#settings;
    const offered = card?.skills ?? store.recall<CardSkill>('a2a', name);
    return createRemoteExecutor({
      client: this.#client,
      // Without a card, the contract's protocol version applies.
      agent: card === undefined ? { ...agent, protocol: '0.3' } : agent,
      skills: skillsOf(skills, offered, card === undefined),
      streaming: card !== undefined && (streaming ?? card.streaming),
      chain,
      findAgent: (other) => {
        const found = registry.agent(other);
        return found && limiter.limited(found);
      },
      pushes: card?.pushNotifications ?? false,
      timeoutMs,
      memory,
      isApprover,
    });
  }
}

type CardSkill = Pick<RemoteCard['skills'][number], 'id' | 'description'>;

/** Skills of the file win; the card adds others, or those it had before the restart. */
function skillsOf(
  named: ExternalAgent['skills'],
  offered: readonly CardSkill[],
  isRemembered: boolean,
): OfferedSkill[] {
  const own = named.map(({ name, description = '' }) => ({ name, description, keywords: [] }));
  const added = offered
    .filter(({ id }) => !named.some(({ name }) => name === id))
    .map(({ id, description }) => ({
      name: id,
      description,
      keywords: [],
      ...(isRemembered && { pending: true }),
    }));
  return [...own, ...added];
}
