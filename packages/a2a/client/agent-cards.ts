import type { JsonWebKey } from 'node:crypto';
import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { isLoopbackHost } from '@trunkline/http';
import { BoundedMap } from '@trunkline/std';
import { whyUnverified } from '../card/card-signing.ts';
import { isObject } from '../dialects/read/values.ts';
import { createAgentFetch, type Fetch } from './agent-fetch.ts';
import { needsNoCard, type RemoteAgent, RemoteAgentError } from './remote-agent.ts';

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

/** The cards of other agents, each asked for at most every ten minutes. */
export class AgentCards {
  readonly #now: () => number;
  readonly #cards = new BoundedMap<string, { card: AgentCard; until: number }>(mostKept);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** With `fresh` the card is asked for again. */
  async get(agent: RemoteAgent, send: Fetch, signal: AbortSignal, fresh = false): Promise<AgentCard> {
    // A card that nobody checked is not one that was.
    const key = agent.trust === undefined ? agent.url : JSON.stringify([agent.url, agent.trust]);
    const known = this.#cards.get(key);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.card;
    const card = needsNoCard(agent) ? assumedCard(agent) : await this.#discover(agent, send, signal);
    this.#cards.set(key, { card, until: this.#now() + lifetimeMs });
    return card;
  }

  async #discover(agent: RemoteAgent, send: Fetch, signal: AbortSignal): Promise<AgentCard> {
    const { raw, isItsCard } = await discover(agent, send, signal);
    if (agent.trust === undefined)
      return raw === undefined ? assumedCard(agent) : withOwnAddress(normalise(raw, agent), agent, isItsCard);
    const keys = await trustedKeys(agent, agent.trust, signal, this.#now);
    const reason = whyUnverified(raw ?? {}, keys);
    if (reason !== undefined) throw new RemoteAgentError('agent_unverified', agent, reason);
    return signedCard(raw ?? {}, agent, isItsCard);
  }
}

interface FoundCard {
  /** As it came, for its signature. Undefined if the agent has none. */
  raw?: object;
  isItsCard: boolean;
}

/** Looks in the usual places. */
async function discover(agent: RemoteAgent, send: Fetch, signal: AbortSignal): Promise<FoundCard> {
  for (const place of cardPlaces(agent.url)) {
    const response = await send(place, {
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
      signal,
    });
    const body: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
    if (isObject(body) && typeof body.name === 'string')
      return { raw: body, isItsCard: describesAgent(place, agent) };
    if (response.status >= 500)
      throw new RemoteAgentError('agent_error', agent, `HTTP status ${response.status}`);
  }
  return { isItsCard: false };
}

/** The keys that the operator pinned, and those that stand at the address which they named. */
async function trustedKeys(
  agent: RemoteAgent,
  { keys = [], jwks }: NonNullable<RemoteAgent['trust']>,
  signal: AbortSignal,
  now: () => number,
): Promise<JsonWebKey[]> {
  if (jwks === undefined) return [...keys];
  // No credentials: they are for the agent alone.
  const send = createAgentFetch({ name: `${agent.name}'s keys`, url: jwks }, now);
  const response = await send(jwks, { headers: { accept: 'application/json' }, signal });
  const body: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
  if (!isObject(body) || !Array.isArray(body.keys))
    throw new RemoteAgentError('agent_unverified', agent, `there are no keys at ${jwks}`);
  return [...keys, ...body.keys.filter(isObject)] as JsonWebKey[];
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
  return readCard(agent, () => {
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } });
    const resolved = resolver.normalizeAgentCard({ ...oftenMissing, ...card, ...newerVersion(card) });
    return CardCodec.fromJSON(CardCodec.toJSON(resolved));
  });
}

function readCard(agent: RemoteAgent, read: () => AgentCard): AgentCard {
  try {
    return read();
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

/**
 * What the signature covers, and nothing else: the fields of 1.0, and interfaces as they stand, at the configured host.
 * A card that was signed for another address says nothing about who answers at this one.
 */
function signedCard(raw: object, agent: RemoteAgent, isItsCard: boolean): AgentCard {
  const own = new URL(agent.url);
  const card = readCard(agent, () => CardCodec.fromJSON({ ...oftenMissing, ...raw }));
  const supportedInterfaces = card.supportedInterfaces.filter((entry) => {
    const url = URL.parse(entry.url);
    return url !== null && isItsCard && isSameService(url, own);
  });
  if (supportedInterfaces.length === 0)
    throw new RemoteAgentError('agent_unverified', agent, `its card is not for ${own.origin}`);
  return { ...card, supportedInterfaces };
}

/** An agent that has no card at all is taken to speak 0.3. */
function assumedCard({ name, url }: RemoteAgent): AgentCard {
  return CardCodec.fromJSON({
    name,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    capabilities: { streaming: true, pushNotifications: true },
  });
}
