import {
  type CompatDelegate,
  createA2aClient,
  type Delegate as DelegateEntry,
  loadDelegates,
  type RemoteAgent,
} from '@trunkline/a2a';
import type { Environment, Logger } from '@trunkline/config';
import { type Peers, peerRoles } from '@trunkline/service';
import { Deadline, errorMessage } from '@trunkline/std';
import { createCompatDelegate, type Delegate, type DelegateContext, DelegateError } from '@trunkline/tools';
import type { VoiceOptions } from '../options.ts';
import { Reloader } from '../store/reload.ts';
import {
  type AgentDelegate,
  createAgentDelegate,
  type LateAnswers,
  type OpenQuestions,
} from './a2a-delegate.ts';

/** Research takes minutes; the caller goes on talking meanwhile. */
const researchAnswerTimeoutMs = 10_000;

export interface DelegateRepositoryOptions {
  path: string;
  env: Environment;
  /** Undefined if agents cannot reach this service. */
  late?: ((userId: string, delegate: string) => LateAnswers | undefined) | undefined;
  /** Delegates besides those of the file; called each time, as peers may start later. */
  peers?: (() => readonly AgentDelegate[]) | undefined;
  questions: OpenQuestions;
  logger: Logger;
}

const researchPrompt = `You are a careful research assistant. Someone asks on behalf of a person who will hear your answer.
Answer in a few plain sentences. Say what you are not sure of. Do not use lists or headings.`;

const longestAnswerMs = 60_000;

/** The delegates of `delegates.yaml`, and the peers. */
export class DelegateRepository {
  readonly #options: DelegateRepositoryOptions;
  readonly #client = createA2aClient();
  readonly #reloader = new Reloader(() => this.#load());
  #entries: readonly DelegateEntry[] = [];

  constructor(options: DelegateRepositoryOptions) {
    this.#options = options;
  }

  /** Loads the file if there is one; a broken one is logged and leaves the list empty. */
  async start(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      this.#options.logger.error({ reason: errorMessage(error) }, 'failed to load delegates');
    }
  }

  /** Reloads the file, or throws and keeps what was loaded. */
  reload(): Promise<void> {
    return this.#reloader.run();
  }

  /** The delegates of the file, and the peers that it does not name. */
  get entries(): readonly (AgentDelegate | CompatDelegate)[] {
    const named = new Set(this.#entries.map(({ name }) => name));
    const peers = this.#options.peers?.() ?? [];
    return [...this.#entries, ...peers.filter(({ name }) => !named.has(name))];
  }

  agent(name: string): RemoteAgent | undefined {
    const entry = this.entries.find((candidate) => candidate.name === name);
    return entry?.type === 'a2a' ? entry.agent : undefined;
  }

  /** The delegates of one session. Each call looks its target up again, so that a reload takes effect at once. */
  delegatesFor(userId: string, allowed: readonly string[] | undefined): Delegate[] {
    return this.entries
      .filter(({ name }) => allowed?.includes(name) ?? true)
      .map(({ name, description, ...entry }) => ({
        name,
        description,
        internal: entry.type === 'a2a' && entry.agent.peer !== undefined,
        ask: (query, context) => this.#ask(name, userId, query, context),
      }));
  }

  async #load(): Promise<void> {
    const { path, env, logger } = this.#options;
    const { entries, warnings } = await loadDelegates(path, env);
    for (const warning of warnings) logger.warn({}, warning);
    this.#entries = entries;
  }

  async #ask(name: string, userId: string, query: string, context: DelegateContext): Promise<string> {
    const entry = this.entries.find((candidate) => candidate.name === name);
    if (entry === undefined) throw new DelegateError('delegate_failed', `${name} is not there any more.`);
    try {
      return await this.#delegateOf(entry, userId).ask(query, context);
    } catch (error) {
      this.#options.logger.warn({ err: error, delegate: name }, 'delegate failed');
      throw error;
    }
  }

  #delegateOf(entry: AgentDelegate | CompatDelegate, userId: string): Delegate {
    if (entry.type === 'compat') return endpointDelegate(entry);
    const { late, questions } = this.#options;
    return createAgentDelegate(entry, {
      client: this.#client,
      late: late?.(userId, entry.name),
      question: {
        find: () => questions.find(userId, entry.name),
        set: (task) => questions.set(userId, entry.name, task),
      },
    });
  }
}

function endpointDelegate({ type: _, systemPrompt, ...entry }: CompatDelegate): Delegate {
  const delegate = createCompatDelegate({ ...entry, instructions: systemPrompt ?? researchPrompt });
  return { ...delegate, ask: (query, context) => askWithin(delegate, query, context) };
}

async function askWithin(delegate: Delegate, query: string, context: DelegateContext): Promise<string> {
  const deadline = new Deadline({ timeoutMs: longestAnswerMs, signal: context.signal });
  try {
    return await delegate.ask(query, { ...context, signal: deadline.signal });
  } catch (error) {
    if (!deadline.isExpired) throw error;
    const message = `${delegate.name} did not answer within a minute.`;
    throw new DelegateError('delegate_silent', message, { cause: error });
  } finally {
    deadline.clear();
  }
}

/** The peers that the assistant may ask, and the research service at RESEARCH_URL. */
export function peerDelegates(
  peers: Peers | undefined,
  options: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>,
): AgentDelegate[] {
  return (['agent', 'research'] as const).flatMap((name) => {
    const agent = peerAgent(name, peers) ?? (name === 'research' ? configuredResearch(options) : undefined);
    if (agent === undefined) return [];
    const patience = name === 'research' ? { answerTimeoutMs: researchAnswerTimeoutMs } : {};
    return [{ type: 'a2a' as const, name, description: peerRoles[name], agent, ...patience }];
  });
}

function peerAgent(name: string, peers: Peers | undefined): RemoteAgent | undefined {
  const peer = peers?.find(name);
  if (peers === undefined || peer === undefined) return undefined;
  return { name, url: `${peer.url}/a2a`, peer: { token: peers.serviceToken, name: 'voice', to: name } };
}

function configuredResearch({
  researchUrl,
  researchAuthToken: bearer,
}: Pick<VoiceOptions, 'researchUrl' | 'researchAuthToken'>): RemoteAgent | undefined {
  if (researchUrl === undefined) return undefined;
  const credentials = bearer === undefined ? {} : { credentials: { bearer } };
  return { name: 'research', url: researchUrl, ownService: true, ...credentials };
}
