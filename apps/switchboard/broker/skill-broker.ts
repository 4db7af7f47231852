import { type A2aClient, createA2aClient, type ExternalAgent, type RemoteCard } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import type { OfferedSkill, SkillExecutor } from '../dispatch/executor.ts';
import type { Lanes } from '../dispatch/lanes.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { createRemoteExecutor, type RemoteMemory } from './remote-executor.ts';

export interface BrokerSettings {
  agents: () => readonly ExternalAgent[];
  registry: ExecutorRegistry;
  lanes: Lanes;
  timeoutMs: number;
  memory: RemoteMemory;
  logger: Logger;
  client?: A2aClient;
  heartbeatMs?: number;
}

/** What is known of an external agent's life. */
export interface Sighting {
  reachable: boolean;
  /** When it was asked last, in milliseconds since 1970. */
  at: number;
  error?: string;
}

const cardTimeoutMs = 10_000;

/** Registers the agents of `agents.yaml` and `agents.d/`, and asks each for its card every minute. */
export class SkillBroker {
  readonly #settings: BrokerSettings;
  readonly #client: A2aClient;
  readonly #cards = new Map<string, RemoteCard>();
  readonly #sightings = new Map<string, Sighting>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: BrokerSettings) {
    this.#settings = settings;
    this.#client = settings.client ?? createA2aClient();
  }

  start(): void {
    this.refresh();
    this.#timer = setInterval(() => this.refresh(), this.#settings.heartbeatMs ?? 60_000).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closing.abort();
  }

  /** Takes the agents as they are in the files now, and asks for their cards. */
  refresh(): void {
    this.#register();
    for (const agent of this.#settings.agents()) void this.#sight(agent);
  }

  sighting(name: string): Sighting | undefined {
    return this.#sightings.get(name);
  }

  async #sight({ name, agent }: ExternalAgent): Promise<void> {
    const options = { signal: this.#closing.signal, timeoutMs: cardTimeoutMs };
    try {
      this.#cards.set(name, await this.#client.card(agent, options));
      this.#sightings.set(name, { reachable: true, at: Date.now() });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const words = error instanceof Error ? error.message : String(error);
      this.#sightings.set(name, { reachable: false, at: Date.now(), error: words });
      this.#settings.logger.warn({ agent: name }, words);
    }
    this.#register();
  }

  #register(): void {
    this.#settings.registry.replace(
      'broker',
      this.#settings.agents().map((entry) => this.#executorOf(entry)),
    );
  }

  #executorOf({ name, agent, streaming, skills, chain }: ExternalAgent): SkillExecutor {
    const card = this.#cards.get(name);
    const { registry, lanes, timeoutMs, memory } = this.#settings;
    return createRemoteExecutor({
      client: this.#client,
      // An agent without a card is spoken to as the contract says, with nothing asked beforehand.
      agent: card === undefined ? { ...agent, protocol: '0.3' } : agent,
      skills: skillsOf(skills, card),
      streaming: card !== undefined && (streaming ?? card.streaming),
      chain,
      findAgent: (other) => {
        const found = registry.agent(other);
        return found && lanes.visited(found);
      },
      pushes: card?.pushNotifications ?? false,
      timeoutMs,
      memory,
    });
  }
}

/** What the file names always stands and wins; the card adds what it has now. */
function skillsOf(named: ExternalAgent['skills'], card: RemoteCard | undefined): OfferedSkill[] {
  const own = named.map(({ name, description = '' }) => ({ name, description, keywords: [] }));
  const added = (card?.skills ?? [])
    .filter(({ id }) => !named.some(({ name }) => name === id))
    .map(({ id, description }) => ({ name: id, description, keywords: [] }));
  return [...own, ...added];
}
