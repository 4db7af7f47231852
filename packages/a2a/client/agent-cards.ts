import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { isObject } from '../dialects/read/values.ts';
import type { Fetch } from './agent-fetch.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { RemoteAgentError } from './remote-error.ts';

const lifetimeMs = 10 * 60 * 1000;
const mostKept = 200;

/** The cards of other agents, each asked for at most every ten minutes. */
export class AgentCards {
  readonly #now: () => number;
  readonly #cards = new Map<string, { card: AgentCard; until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** With `fresh` the card is asked for again. */
  async get(agent: RemoteAgent, send: Fetch, signal: AbortSignal, fresh = false): Promise<AgentCard> {
    const known = this.#cards.get(agent.url);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.card;
    const card = agent.protocol === '0.3' ? assumedCard(agent) : await discover(agent, send, signal);
    this.#cards.delete(agent.url);
    this.#cards.set(agent.url, { card, until: this.#now() + lifetimeMs });
    this.#dropOldest();
    return card;
  }

  #dropOldest(): void {
    const [oldest] = this.#cards.keys();
    if (this.#cards.size > mostKept && oldest !== undefined) this.#cards.delete(oldest);
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
    if (isObject(body) && typeof body.name === 'string') return withOwnAddress(normalise(body, agent), agent);
    if (response.status >= 500)
      throw new RemoteAgentError('agent_error', agent, `HTTP status ${response.status}`);
  }
  return assumedCard(agent);
}

function cardPlaces(url: string): string[] {
  const base = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  const parent = base.replace(/\/a2a$/, '');
  const { origin } = new URL(url);
  const places = [parent, origin].map((root) => `${root}/.well-known/agent-card.json`);
  return [...new Set([...places, `${parent}/.well-known/agent.json`])];
}

/** What many cards leave out although they must not. */
const oftenMissing = {
  description: '',
  version: '',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

function normalise(card: object, agent: RemoteAgent): AgentCard {
  try {
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } });
    const resolved = resolver.normalizeAgentCard({ ...oftenMissing, ...card });
    return CardCodec.fromJSON(CardCodec.toJSON(resolved));
  } catch (cause) {
    throw new RemoteAgentError('agent_unreadable', agent, '', { cause });
  }
}

/**
 * Our credentials go to the host that the operator configured and no other:
 * JSON-RPC is spoken at the configured address, REST only where the card stays on that host.
 */
function withOwnAddress(card: AgentCard, agent: RemoteAgent): AgentCard {
  const { origin } = new URL(agent.url);
  const supportedInterfaces = card.supportedInterfaces.flatMap((entry) => {
    if (entry.protocolBinding === 'JSONRPC') return [{ ...entry, url: agent.url }];
    return URL.parse(entry.url)?.origin === origin ? [entry] : [];
  });
  return { ...card, supportedInterfaces };
}

function assumedCard({ name, url }: RemoteAgent): AgentCard {
  return CardCodec.fromJSON({
    name,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    capabilities: { streaming: true, pushNotifications: true },
  });
}
