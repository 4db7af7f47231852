import type { JsonWebKey } from 'node:crypto';
import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { isLoopbackHost } from '@trunkline/http';
import { BoundedMap } from '@trunkline/std';
import { whyUnverified } from '../card/card-signing.ts';
import { isObject } from '../dialects/read/values.ts';
import { createAgentFetch, type Fetch } from './agent-fetch.ts';
import { needsNoCard, type RemoteAgent, RemoteAgentError } from './remote-agent.ts';

/** For how long a card is kept that says nothing of it, and at most. */
const longestMs = 10 * 60 * 1000;
/** One that may not be kept would otherwise be asked for with every call. */
const shortestMs = 10 * 1000;

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

interface KeptCard {
  card: AgentCard;
  until: number;
  source: CardSource | undefined;
}

/** Where a card came from, for how long it may be kept, and the tag by which to ask whether it still reads so. */
interface CardSource {
  place: string;
  /** Strangers get it too. */
  isOpen: boolean;
  lifetimeMs: number;
  etag: string | null;
}

/** The cards of other agents, each kept as long as its server says, but for ten minutes at most. */
export class AgentCards {
  readonly #now: () => number;
  readonly #cards = new BoundedMap<string, KeptCard>(mostKept);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** With `fresh` the card is asked for again. */
  async get(agent: RemoteAgent, send: Fetch, signal: AbortSignal, fresh = false): Promise<AgentCard> {
    // A card that nobody checked is not one that was.
    const key = JSON.stringify([agent.url, agent.trust, agent.cardHosts, needsNoCard(agent)]);
    const known = this.#cards.get(key);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.card;
    // The keys of a card that is checked may have changed, if the card has not.
    const source = fresh || agent.trust !== undefined ? undefined : known?.source;
    const found =
      (source && known && (await this.#askAgain(agent, { card: known.card, source }, send, signal))) ??
      (await this.#find(agent, send, signal));
    this.#cards.set(key, { ...found, until: this.#now() + (found.source?.lifetimeMs ?? longestMs) });
    return found.card;
  }

  /** Undefined where the card is no more at its old place, or cannot be read: then it is looked for anew. */
  async #askAgain(
    agent: RemoteAgent,
    { card, source }: { card: AgentCard; source: CardSource },
    send: Fetch,
    signal: AbortSignal,
  ): Promise<Omit<KeptCard, 'until'> | undefined> {
    const { place, isOpen, etag } = source;
    if (etag === null) return undefined;
    const as = { send: isOpen ? this.#withoutCredentials(agent) : send, isOpen };
    try {
      const answer = await cardAt(place, agent, as, signal, etag);
      if (answer === undefined) return undefined;
      if (answer.raw === undefined) return { card, source: answer.source };
      const found = { ...answer, isItsCard: describesAgent(place, agent) };
      return { card: await this.#read(agent, found, signal), source: answer.source };
    } catch (error) {
      if (error instanceof RemoteAgentError) return undefined;
      throw error;
    }
  }

  async #find(agent: RemoteAgent, send: Fetch, signal: AbortSignal): Promise<Omit<KeptCard, 'until'>> {
    if (needsNoCard(agent)) return { card: assumedCard(agent), source: undefined };
    const found = await discover(agent, [this.#withoutCredentials(agent), send], signal);
    return { card: await this.#read(agent, found, signal), source: found.source };
  }

  async #read(agent: RemoteAgent, { raw, isItsCard }: FoundCard, signal: AbortSignal): Promise<AgentCard> {
    if (agent.trust === undefined)
      return raw === undefined ? assumedCard(agent) : withOwnAddress(normalise(raw, agent), agent, isItsCard);
    const keys = await trustedKeys(agent, agent.trust, signal, this.#now);
    const reason = whyUnverified(raw ?? {}, keys);
    if (reason !== undefined) throw new RemoteAgentError('agent_unverified', agent, reason);
    const isPinned = whyUnverified(raw ?? {}, agent.trust.keys ?? []) === undefined;
    return signedCard(raw ?? {}, agent, { isItsCard, isPinned });
  }

  /** Headers of an agent's own may hold a key too. */
  #withoutCredentials({ credentials: _, peer: __, headers: ___, ...agent }: RemoteAgent): Fetch {
    return createAgentFetch(agent, this.#now);
  }
}

interface FoundCard {
  /** As it came, for its signature. Undefined if the agent has none. */
  raw?: object;
  source?: CardSource;
  isItsCard: boolean;
}

/**
 * Looks in the usual places: without our credentials first. They go out where strangers get no card, whatever they get
 * instead: a refusal, a way to a login page, or that page itself.
 */
async function discover(
  agent: RemoteAgent,
  [open, identified]: [Fetch, Fetch],
  signal: AbortSignal,
): Promise<FoundCard> {
  const hasCredentials = [agent.credentials, agent.peer, agent.headers].some((each) => each !== undefined);
  for (const place of cardPlaces(agent.url)) {
    let found = await cardAt(place, agent, { send: open, isOpen: true }, signal).catch((error: unknown) => {
      const isAnswer = error instanceof RemoteAgentError && error.code !== 'agent_unreachable';
      if (!isAnswer || !hasCredentials) throw error;
      return undefined;
    });
    if (found === undefined && hasCredentials)
      found = await cardAt(place, agent, { send: identified, isOpen: false }, signal);
    if (found !== undefined) return { ...found, isItsCard: describesAgent(place, agent) };
  }
  return { isItsCard: false };
}

async function cardAt(
  place: string,
  agent: RemoteAgent,
  { send, isOpen }: { send: Fetch; isOpen: boolean },
  signal: AbortSignal,
  etag?: string,
): Promise<{ raw?: object; source: CardSource } | undefined> {
  const response = await send(place, {
    headers: { ...cardHeaders, ...(etag !== undefined && { 'if-none-match': etag }) },
    signal,
  });
  if (response.status >= 500)
    throw new RemoteAgentError('agent_error', agent, `HTTP status ${response.status}`);
  const { headers } = response;
  const source = {
    place,
    isOpen,
    lifetimeMs: lifetimeOf(headers),
    etag: headers.get('etag') ?? etag ?? null,
  };
  if (response.status === 304 && etag !== undefined) return { source };
  const body: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
  if (!isObject(body) || typeof body.name !== 'string') return undefined;
  return { raw: body, source };
}

const cardHeaders = { accept: 'application/json', 'a2a-version': '1.0' };

function lifetimeOf(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  if (/\bno-(cache|store)\b/i.test(control)) return shortestMs;
  const [, seconds] = /\bmax-age="?(\d{1,9})/i.exec(control) ?? [];
  return seconds === undefined
    ? longestMs
    : Math.min(Math.max(Number(seconds) * 1000, shortestMs), longestMs);
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

/** What 0.2 sends and expects is what 0.3 does; BeeAI's cards say 0.1.0 and mean that too. */
function newerVersion(card: object): object {
  const isOlder = 'protocolVersion' in card && /^0\.[0-2](\.|$)/.test(String(card.protocolVersion));
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
 * The interfaces where the agent's card says, as long as that is a host which the operator configured: what we send,
 * credentials included, goes nowhere else. An agent that does not know its own address (it names 0.0.0.0 or localhost)
 * is reached by the path that it names, unless the operator named one. In all other cases JSON-RPC is spoken at the
 * configured address.
 */
function withOwnAddress(card: AgentCard, agent: RemoteAgent, isItsCard: boolean): AgentCard {
  const own = new URL(agent.url);
  const elsewhere = new Set<string>();
  const supportedInterfaces = card.supportedInterfaces.flatMap((entry) => {
    const url = addressOf(entry, own);
    if (url !== null && isItsCard && (isSameService(url, own, entry) || isAllowed(url, agent)))
      return [{ ...entry, url: url.href }];
    if (url !== null && isUnspecified(url) && !hasOwnPath(agent))
      return isGrpc(entry) && own.protocol !== url.protocol
        ? []
        : [{ ...entry, url: onOwnHost(url, own, entry) }];
    if (url !== null && isItsCard) elsewhere.add(url.host);
    if (entry.protocolBinding !== 'JSONRPC' || isCardAddress(agent.url)) return [];
    return [{ ...entry, url: agent.url }];
  });
  if (supportedInterfaces.length === 0 && elsewhere.size > 0)
    throw new RemoteAgentError('agent_elsewhere', agent, [...elsewhere].slice(0, 3).join(', '));
  return { ...card, supportedInterfaces };
}

type Interface = AgentCard['supportedInterfaces'][number];

const isGrpc = ({ protocolBinding }: Interface) => protocolBinding.toUpperCase() === 'GRPC';

/** Of gRPC as `http:` or `https:`, by which it is encrypted or not: cards write it in many ways, often as host and port alone. */
function addressOf(entry: Interface, own: URL): URL | null {
  if (!isGrpc(entry)) return URL.parse(entry.url, own);
  const [, scheme, place = ''] = /^(?:([a-z]+):\/\/\/?)?([^/?#]*)/i.exec(entry.url) ?? [];
  const protocols: Record<string, string> = {
    http: 'http:',
    https: 'https:',
    grpc: 'http:',
    grpcs: 'https:',
  };
  const protocol = protocols[scheme?.toLowerCase() ?? ''] ?? own.protocol;
  return URL.parse(`${protocol}//${place}`);
}

/** gRPC has a port of its own; it is encrypted wherever the configured address is. */
function isSameService(url: URL, own: URL, entry: Interface): boolean {
  if (url.origin === own.origin) return true;
  const areLoopback = isLoopbackHost(url.hostname) && isLoopbackHost(own.hostname);
  const isSameHost = areLoopback || url.hostname === own.hostname;
  if (isGrpc(entry)) return isSameHost && (url.protocol === 'https:' || own.protocol === 'http:');
  return areLoopback && url.port === own.port && url.protocol === own.protocol;
}

/** The operator named the host; what goes there is as well protected as at the configured address. */
function isAllowed(url: URL, { url: own, cardHosts = [] }: RemoteAgent): boolean {
  const isProtected = url.protocol === 'https:' || new URL(own).protocol === 'http:';
  return isProtected && (cardHosts.includes(url.host) || cardHosts.includes(url.hostname));
}

function isUnspecified({ hostname }: URL): boolean {
  return isLoopbackHost(hostname) || hostname === '0.0.0.0' || hostname === '[::]';
}

function onOwnHost(url: URL, own: URL, entry: Interface): string {
  if (!isGrpc(entry)) return own.origin + url.pathname + url.search;
  return `${url.protocol}//${own.hostname}${url.port && `:${url.port}`}`;
}

/**
 * What the signature covers, and nothing else: the fields of 1.0, and interfaces as they stand, at the configured host.
 * A card that was signed for another address says nothing about who answers at this one, unless the operator pinned the
 * very key: its owner may say where the agent is, and the encryption there proves it.
 */
function signedCard(
  raw: object,
  agent: RemoteAgent,
  { isItsCard, isPinned }: { isItsCard: boolean; isPinned: boolean },
): AgentCard {
  const own = new URL(agent.url);
  const card = readCard(agent, () => CardCodec.fromJSON({ ...oftenMissing, ...raw }));
  const supportedInterfaces = card.supportedInterfaces.flatMap((entry) => {
    const isWritten = isGrpc(entry) || URL.canParse(entry.url);
    const url = isWritten ? addressOf(entry, own) : null;
    if (url === null || !isItsCard) return [];
    const isOurs = isSameService(url, own, entry) || isAllowed(url, agent);
    return isOurs || (isPinned && url.protocol === 'https:') ? [{ ...entry, url: url.href }] : [];
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
