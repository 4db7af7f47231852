import { createA2aClient, type ExternalAgent, type RemoteCard } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import { whyUnreachable } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { isLocalAddress } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { FreshParts } from '@trunkline/tools';
import type { Sighting } from '../api-types.ts';
import type { AgentLimiter } from '../dispatch/agent-limiter.ts';
import type { OfferedSkill, SkillExecutor } from '../dispatch/executor.ts';
import type { ExecutorRegistry, SkillStore } from '../dispatch/registry.ts';
import { createRemoteExecutor, type RemoteMemory, type RemoteParts } from './remote-executor.ts';

export interface BrokerSettings {
  agents: () => readonly ExternalAgent[];
  /** Services that start beside this one and will register. */
  expected: () => readonly string[];
  store: SkillStore;
  registry: ExecutorRegistry;
  limiter: AgentLimiter;
  timeoutMs: number;
  memory: RemoteMemory;
  files: RemoteParts['files'];
  isApprover: (principal: Principal) => boolean;
  logger: Logger;
}

const cardTimeoutMs = 10_000;
const heartbeatMs = 60_000;
/** While somebody looks at the agents, those of this machine and network are tried this often. */
const lookMs = 1000;
const connectMs = 500;
/** Retry delay for an agent that has not answered since the start; doubles each time. */
const firstRetryMs = 1000;
const longestRetryMs = 5000;

/** Registers the agents of `agents.yaml` and `agents.d/`, and fetches each card every minute. */
export function createSkillBroker(settings: BrokerSettings) {
  const { store, logger, agents, expected, registry, limiter, timeoutMs, memory, files, isApprover } =
    settings;
  const cards = new Map<string, RemoteCard>();
  const sightings = new Map<string, Sighting>();
  const closing = new AbortController();
  const retries = new Map<string, { timer: NodeJS.Timeout; count: number }>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;
  /** Agents that take connections again and whose cards are being fetched. */
  const returning = new Set<string>();
  const client = createA2aClient();
  const fresh = new FreshParts();

  function start(): void {
    refresh();
    timer = setInterval(refresh, heartbeatMs).unref();
  }

  function close(): void {
    clearInterval(timer);
    for (const { timer } of retries.values()) clearTimeout(timer);
    closing.abort();
  }

  /** Registers the agents that the files list now, and fetches their cards. */
  function refresh(): void {
    if (closing.signal.aborted) return;
    register();
    for (const agent of agents()) void sight(agent);
  }

  function sighting(name: string): Sighting | undefined {
    return sightings.get(name);
  }

  /**
   * Notices at once that an agent of this machine or network stopped or came back: whether it takes a connection. Others are
   * seen by their cards.
   */
  async function look(): Promise<void> {
    const now = Date.now();
    if (now - lookedAt < lookMs) return;
    lookedAt = now;
    const local = agents().filter(({ agent, name }) => isLocalAddress(agent.url) && sightings.has(name));
    await Promise.all(local.map(lookAt));
  }

  async function lookAt(entry: ExternalAgent): Promise<void> {
    const { name, agent } = entry;
    const error = await whyUnreachable(agent.url, connectMs);
    const wasReachable = sightings.get(name)?.reachable;
    if (error !== undefined && wasReachable) sightings.set(name, { reachable: false, at: Date.now(), error });
    if (error !== undefined || wasReachable || returning.has(name)) return;
    returning.add(name);
    void sight(entry).finally(() => returning.delete(name));
  }

  async function sight({ name, agent }: ExternalAgent): Promise<void> {
    const options = { signal: closing.signal, timeoutMs: cardTimeoutMs };
    try {
      const card = await client.card(agent, options);
      cards.set(name, card);
      keep(name, card);
      clearTimeout(retries.get(name)?.timer);
      retries.delete(name);
      // Services of one installation know each other by their token.
      const signed = agent.peer === undefined ? { card: card.signature } : {};
      sightings.set(name, { reachable: true, at: Date.now(), ...signed });
    } catch (error) {
      if (closing.signal.aborted) return;
      const words = errorMessage(error);
      sightings.set(name, { reachable: false, at: Date.now(), error: words });
      logger.warn({ agent: name, error: words }, 'failed to fetch agent card');
      if (!cards.has(name)) sightAgain(name);
    }
    register();
  }

  /** Work may be waiting for its card, so the next heartbeat is too late. */
  function sightAgain(name: string): void {
    const { timer: last, count = 0 } = retries.get(name) ?? {};
    clearTimeout(last);
    const pause = Math.min(firstRetryMs * 2 ** count, longestRetryMs);
    const retry = () => {
      const entry = agents().find((agent) => agent.name === name);
      if (entry === undefined) retries.delete(name);
      else void sight(entry);
    };
    retries.set(name, { timer: setTimeout(retry, pause).unref(), count: count + 1 });
  }

  function keep(name: string, { skills }: RemoteCard): void {
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

  function register(): void {
    const listed = agents();
    const missing = expected().filter((name) => !listed.some((entry) => entry.name === name));
    registry.replace('broker', [
      ...listed.map((entry) => executorOf(entry)),
      ...missing.flatMap((name) => absent(name)),
    ]);
  }

  /** A peer that had skills before the restart and has not started yet: work for it waits. */
  function absent(name: string): SkillExecutor[] {
    const skills = skillsOf([], store.recall<CardSkill>('a2a', name), true);
    if (skills.length === 0) return [];
    const execute = async () => {
      throw new Error(`${name} has not started yet; try again later`);
    };
    return [{ agent: name, type: 'a2a', skills, execute }];
  }

  function executorOf(entry: ExternalAgent): SkillExecutor {
    const { name, agent, streaming, skills, chain } = entry;
    const card = cards.get(name);
    const offered = card?.skills ?? store.recall<CardSkill>('a2a', name);
    return createRemoteExecutor({
      client,
      // Without a card, the contract's protocol version applies, unless the card has to be checked first.
      agent: card === undefined && agent.trust === undefined ? { ...agent, protocol: '0.3' } : agent,
      skills: withDefault(name, card, skillsOf(skills, offered, card === undefined)),
      isPublic: entry.public ?? false,
      streaming: card !== undefined && (streaming ?? card.streaming),
      chain,
      findAgent: (other) => {
        const found = registry.agent(other);
        return found && limiter.limited(found);
      },
      pushes: card?.pushNotifications ?? false,
      timeoutMs,
      memory,
      files,
      fresh,
      isApprover,
    });
  }

  return { start, close, refresh, look, sighting };
}

export type SkillBroker = ReturnType<typeof createSkillBroker>;

type CardSkill = Pick<RemoteCard['skills'][number], 'id' | 'description'>;

/** Agents of some frameworks list no skills; where the file names none either, they are asked by their name. */
function withDefault(name: string, card: RemoteCard | undefined, skills: OfferedSkill[]): OfferedSkill[] {
  if (skills.length > 0 || card === undefined) return skills;
  return [{ name, description: card.description, keywords: [], foreign: true }];
}

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
      foreign: true,
      ...(isRemembered && { pending: true }),
    }));
  return [...own, ...added];
}
