import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { type Client, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { isLoopbackHost } from '@trunkline/http';
import { type Clock, systemClock } from '@trunkline/schedule';
import { BoundedMap, Deadline, errorMessage } from '@trunkline/std';
import { isObject } from '../dialects/read/values.ts';
import { createAgentFetch, type Fetch } from './agent-fetch.ts';
import { sendPlain } from './plain-wire.ts';
import {
  type CallOptions,
  firstText,
  type OutgoingMessage,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteCard,
  type RemoteEvent,
  type RemoteReply,
  textOfArtifacts,
} from './remote-agent.ts';
import { fromResult, fromTask, readStream, sdkClient, toRequest } from './sdk-wire.ts';

const lifetimeMs = 10 * 60 * 1000;

const mostKept = 200;

/** Required fields that many cards lack. */
const oftenMissing = {
  description: '',
  version: '',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

/** Calls other agents. Every failure is a `RemoteAgentError` whose words can be spoken or shown. */
export interface A2aClient {
  send(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): Promise<RemoteReply>;
  /** The text of the answer; an agent that gives none, fails or asks back is an error. */
  ask(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): Promise<string>;
  stream(agent: RemoteAgent, message: OutgoingMessage, options?: CallOptions): AsyncIterable<RemoteEvent>;
  get(agent: RemoteAgent, taskId: string, options?: CallOptions): Promise<RemoteReply>;
  cancel(agent: RemoteAgent, taskId: string, options?: CallOptions): Promise<RemoteReply>;
  /** Fetches the card again; other calls use one read in the last ten minutes. */
  card(agent: RemoteAgent, options?: CallOptions): Promise<RemoteCard>;
}

const defaultTimeoutMs = 60_000;

const METHOD_NOT_FOUND = -32601;
const UNSUPPORTED_OPERATION = -32004;

export function createA2aClient(clock: Clock = systemClock): A2aClient {
  const deadlineOf = ({ signal, timeoutMs = defaultTimeoutMs }: CallOptions) =>
    new Deadline({ signal, timeoutMs, clock });
  const cards = new AgentCards(() => clock.now());
  const fetchFor = (agent: RemoteAgent, { principal }: CallOptions) =>
    createAgentFetch(agent, () => clock.now(), principal);
  const cardOf = (agent: RemoteAgent, deadline: Deadline, fresh = false) =>
    cards.get(agent, fetchFor(agent, ownName(agent)), deadline.signal, fresh);
  const open = async (agent: RemoteAgent, options: CallOptions, deadline: Deadline) =>
    sdkClient(agent, await cardOf(agent, deadline), fetchFor(agent, options));
  const call = async <T>(
    agent: RemoteAgent,
    options: CallOptions,
    work: (client: Client, deadline: Deadline) => Promise<T>,
  ) =>
    within(
      agent,
      deadlineOf(options),
      async (deadline) => await work(await open(agent, options, deadline), deadline),
    );
  const send = (agent: RemoteAgent, message: OutgoingMessage, options: CallOptions = {}) =>
    agent.protocol === '0.3'
      ? within(agent, deadlineOf(options), ({ signal }) =>
          sendPlain(agent, message, fetchFor(agent, options), signal),
        )
      : call(agent, options, async (client, { signal }) =>
          fromResult(await client.sendMessage(toRequest(message), { signal })),
        );
  /** False where the agent has no streams; nothing was done then. */
  async function* streamed(
    agent: RemoteAgent,
    message: OutgoingMessage,
    options: CallOptions,
  ): AsyncGenerator<RemoteEvent, boolean> {
    const deadline = deadlineOf(options);
    let isAnswering = false;
    try {
      const card = await cardOf(agent, deadline);
      if (card.capabilities?.streaming !== true) return false;
      const client = await sdkClient(agent, card, fetchFor(agent, options));
      const frames = client.sendMessageStream(toRequest(message), { signal: deadline.signal });
      for await (const event of readStream(frames, agent)) {
        isAnswering = true;
        deadline.extend();
        yield event;
      }
      return true;
    } catch (error) {
      if (!isAnswering && refusesStreams(error)) return false;
      throw explain(error, agent, deadline);
    } finally {
      deadline.clear();
    }
  }
  return {
    send,
    ask: async (agent, message, options) => answerFrom(agent, await send(agent, message, options)),
    async *stream(agent, message, options = {}) {
      // Under the same id an agent that did begin to work does not do it twice.
      const sent = { ...message, messageId: message.messageId ?? crypto.randomUUID() };
      if (!(yield* streamed(agent, sent, options))) yield* unstreamed(await send(agent, sent, options));
    },
    get: (agent, taskId, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        fromTask(await client.getTask({ tenant: '', id: taskId }, { signal })),
      ),
    cancel: (agent, taskId, options = {}) =>
      call(agent, options, async (client, { signal }) =>
        fromTask(await client.cancelTask({ tenant: '', id: taskId, metadata: undefined }, { signal })),
      ),
    card: (agent, options = {}) =>
      within(agent, deadlineOf(options), async (deadline) =>
        describeCard(await cardOf(agent, deadline, true)),
      ),
  };
}

/** The events of an answer that came in one piece. */
function* unstreamed(reply: RemoteReply): Generator<RemoteEvent, void> {
  const { taskId, contextId = '', text } = reply;
  if (taskId !== undefined) yield { type: 'task-start', taskId, contextId };
  if (reply.state === 'completed' && text !== '') yield { type: 'text-delta', text };
  yield { type: 'task-end', reply };
}

/** The agent knows no streams, whatever its card says: by the code, as words may be those of a tool that it used. */
function refusesStreams(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'envelopeCode' in error ? error.envelopeCode : undefined;
  return code === METHOD_NOT_FOUND || code === UNSUPPORTED_OPERATION || refusesStreams(error.cause);
}

/** The service reads cards in its own name. */
function ownName({ peer }: RemoteAgent): CallOptions {
  return { principal: { kind: 'service', id: peer?.name ?? '', via: [] } };
}

async function within<T>(
  agent: RemoteAgent,
  deadline: Deadline,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  try {
    return await work(deadline);
  } catch (error) {
    throw explain(error, agent, deadline);
  } finally {
    deadline.clear();
  }
}

/** An abort by the caller keeps its own reason. */
function explain(error: unknown, agent: RemoteAgent, deadline: Deadline): unknown {
  if (deadline.isAbortedByCaller) return deadline.signal.reason;
  if (deadline.isExpired) return new RemoteAgentError('agent_timeout', agent, '', { cause: error });
  const own = findOwn(error);
  if (own !== undefined) return own;
  return new RemoteAgentError('agent_error', agent, errorMessage(error), { cause: error });
}

function findOwn(error: unknown): RemoteAgentError | undefined {
  if (error instanceof RemoteAgentError) return error;
  return error instanceof Error && error.cause !== undefined ? findOwn(error.cause) : undefined;
}

/** Returns the text of an answer. Throws if the reply is empty, has failed or asks back. */
export function answerFrom(agent: RemoteAgent, reply: RemoteReply): string {
  const { state, statusText } = reply;
  if (state === 'failed' || state === 'rejected' || state === 'canceled') {
    throw new RemoteAgentError(
      'agent_failed',
      agent,
      statusText === '' ? `the task was ${state}` : statusText,
    );
  }
  if (state === 'input-required' || state === 'auth-required') {
    throw new RemoteAgentError('agent_failed', agent, `it asks back: ${statusText}`);
  }
  const answer = agent.protocol === '0.3' ? firstText(reply.artifacts) : textOfArtifacts(reply.artifacts);
  if (answer === undefined || answer === '') throw new RemoteAgentError('agent_no_answer', agent);
  return answer;
}

function describeCard({ name, description, capabilities, skills }: AgentCard): RemoteCard {
  return {
    name,
    description,
    streaming: capabilities?.streaming ?? false,
    pushNotifications: capabilities?.pushNotifications ?? false,
    skills: skills.map((skill) => ({ id: skill.id, name: skill.name, description: skill.description })),
  };
}

/** The cards of other agents, each asked for at most every ten minutes. */
class AgentCards {
  readonly #now: () => number;
  readonly #cards = new BoundedMap<string, { card: AgentCard; until: number }>(mostKept);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** With `fresh` the card is asked for again. */
  async get(agent: RemoteAgent, send: Fetch, signal: AbortSignal, fresh = false): Promise<AgentCard> {
    const known = this.#cards.get(agent.url);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.card;
    const card = agent.protocol === '0.3' ? assumedCard(agent) : await discover(agent, send, signal);
    this.#cards.set(agent.url, { card, until: this.#now() + lifetimeMs });
    return card;
  }
}

/** Looks in the usual places. An agent that has no card at all is taken to speak 0.3. */
async function discover(agent: RemoteAgent, send: Fetch, signal: AbortSignal): Promise<AgentCard> {
  for (const place of cardPlaces(agent.url)) {
    const response = await send(place, {
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
      signal,
    });
    const body: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
    if (isObject(body) && typeof body.name === 'string')
      return withOwnAddress(normalise(body, agent), agent, describesAgent(place, agent));
    if (response.status >= 500)
      throw new RemoteAgentError('agent_error', agent, `HTTP status ${response.status}`);
  }
  return assumedCard(agent);
}

/** The address may be that of a card, of an endpoint, or of the service. */
function cardPlaces(url: string): string[] {
  const base = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  const parent = base.replace(/\/a2a$/, '');
  const { origin } = new URL(url);
  const places = [parent, origin].map((root) => `${root}/.well-known/agent-card.json`);
  return [...new Set([...(isCardAddress(url) ? [url] : []), ...places, `${parent}/.well-known/agent.json`])];
}

function isCardAddress(url: string): boolean {
  return new URL(url).pathname.endsWith('.json');
}

function normalise(card: object, agent: RemoteAgent): AgentCard {
  try {
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } });
    const resolved = resolver.normalizeAgentCard({ ...oftenMissing, ...card, ...newerVersion(card) });
    return CardCodec.fromJSON(CardCodec.toJSON(resolved));
  } catch (cause) {
    throw new RemoteAgentError('agent_unreadable', agent, '', { cause });
  }
}

/** What 0.2 sends and expects is what 0.3 does. */
function newerVersion(card: object): object {
  const isOlder = 'protocolVersion' in card && /^0\.2(\.|$)/.test(String(card.protocolVersion));
  return isOlder ? { protocolVersion: '0.3.0' } : {};
}

/** The card at the root of a host that several agents share may be that of another one. */
function describesAgent(place: string, agent: RemoteAgent): boolean {
  return place === agent.url || !hasOwnPath(agent) || !isAtRoot(place);
}

const isAtRoot = (place: string) => new URL(place).pathname.startsWith('/.well-known/');

function hasOwnPath({ url }: RemoteAgent): boolean {
  return !isCardAddress(url) && !/^\/(a2a\/?)?$/.test(new URL(url).pathname);
}

/**
 * The interfaces where the agent's card says, as long as that is the host which the operator configured: what we send,
 * credentials included, goes nowhere else. An agent that does not know its own address (it names 0.0.0.0 or localhost)
 * is reached by the path that it names, unless the operator named one. In all other cases JSON-RPC is spoken at the
 * configured address.
 */
function withOwnAddress(card: AgentCard, agent: RemoteAgent, isItsCard: boolean): AgentCard {
  const own = new URL(agent.url);
  const supportedInterfaces = card.supportedInterfaces.flatMap((entry) => {
    const url = URL.parse(entry.url, own);
    if (url !== null && isItsCard && isSameService(url, own)) return [{ ...entry, url: url.href }];
    if (url !== null && isUnspecified(url) && !hasOwnPath(agent))
      return [{ ...entry, url: own.origin + url.pathname + url.search }];
    if (entry.protocolBinding !== 'JSONRPC' || isCardAddress(agent.url)) return [];
    return [{ ...entry, url: agent.url }];
  });
  return { ...card, supportedInterfaces };
}

function isSameService(url: URL, own: URL): boolean {
  if (url.origin === own.origin) return true;
  const areLoopback = isLoopbackHost(url.hostname) && isLoopbackHost(own.hostname);
  return areLoopback && url.port === own.port && url.protocol === own.protocol;
}

function isUnspecified({ hostname }: URL): boolean {
  return isLoopbackHost(hostname) || hostname === '0.0.0.0' || hostname === '[::]';
}

function assumedCard({ name, url }: RemoteAgent): AgentCard {
  return CardCodec.fromJSON({
    name,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    capabilities: { streaming: true, pushNotifications: true },
  });
}
