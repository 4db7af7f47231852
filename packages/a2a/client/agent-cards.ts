import type { JsonWebKey } from 'node:crypto';
import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { BoundedMap } from '@trunkline/std';
import { whyUnverified } from '../card/card-signing.ts';
import { isObject } from '../dialects/read/values.ts';
import { createAgentFetch, type Fetch } from './agent-fetch.ts';
import {
  assumedCard,
  baseOf,
  hasOwnPath,
  isCardAddress,
  namesEndpoint,
  type PlacedCard,
  placeInterfaces,
  signedInterfaces,
} from './card-places.ts';
import {
  hasCredentials,
  isOwnService,
  needsNoCard,
  type RemoteAgent,
  RemoteAgentError,
} from './remote-agent.ts';

/** For how long a card is kept that says nothing of it, and at most. */
const longestMs = 10 * 60 * 1000;
/** One that may not be kept would otherwise be asked for with every call. */
const shortestMs = 10 * 1000;

const mostKept = 200;

/** For a card at the configured address itself, which may be an endpoint that does not answer GET. */
const ownPlaceMs = 5000;

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
  card: PlacedCard;
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
  async get(agent: RemoteAgent, send: Fetch, signal: AbortSignal, fresh = false): Promise<PlacedCard> {
    // A card that nobody checked is not one that was, and with credentials it is believed less.
    const means = [needsNoCard(agent), hasCredentials(agent), isOwnService(agent)];
    const key = JSON.stringify([agent.url, agent.trust, agent.cardHosts, ...means]);
    const known = this.#cards.get(key);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.card;
    // The keys of a card that is checked may have changed, if the card has not.
    const source = fresh || agent.trust !== undefined ? undefined : known?.source;
    const found =
      (source && known && (await this.#askAgain(agent, { card: known.card, source }, send, signal))) ??
      (await this.#find(agent, send, signal));
    const lifetimeMs = found.card.refusal === undefined ? found.source?.lifetimeMs : shortestMs;
    this.#cards.set(key, { ...found, until: this.#now() + (lifetimeMs ?? longestMs) });
    return found.card;
  }

  /** Undefined where the card is no more at its old place, or cannot be read: then it is looked for anew. */
  async #askAgain(
    agent: RemoteAgent,
    { card, source }: { card: PlacedCard; source: CardSource },
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
    const { source, refusal } = found;
    const card = await this.#read(agent, found, signal);
    return refusal === undefined ? { card, source } : { card: { ...card, refusal }, source: undefined };
  }

  async #read(agent: RemoteAgent, found: FoundCard, signal: AbortSignal): Promise<PlacedCard> {
    const { raw, source, isItsCard } = found;
    const isCard = raw !== undefined && source?.place === agent.url && !isNamedBy(raw, agent);
    if (agent.trust === undefined) {
      if (raw === undefined) return assumedCard(agent);
      const given = { ...agent, isCard };
      return { ...(await placeInterfaces(normalise(raw, agent), given, { isItsCard, signal })), isCard };
    }
    const keys = await trustedKeys(agent, agent.trust, signal, this.#now);
    const reason = whyUnverified(raw ?? {}, keys);
    if (reason !== undefined) throw new RemoteAgentError('agent_unverified', agent, reason);
    const isPinned = whyUnverified(raw ?? {}, agent.trust.keys ?? []) === undefined;
    const card = readCard(agent, () => CardCodec.fromJSON({ ...oftenMissing, ...raw }));
    return signedInterfaces(card, agent, { isItsCard, isPinned });
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
  /** Of a place where the card could be. */
  refusal?: RemoteAgentError;
}

/**
 * Looks in the usual places: without our credentials first. They go out where strangers get no card, whatever they get
 * instead: a refusal, a way to a login page, or that page itself. Some hosts answer so wherever there is nothing; where the
 * address itself may be that of the card or of the endpoint, this is no failure, unless the card has to be checked.
 */
async function discover(
  agent: RemoteAgent,
  [open, identified]: [Fetch, Fetch],
  signal: AbortSignal,
): Promise<FoundCard> {
  const isKnown = hasCredentials(agent);
  const places = cardPlaces(agent);
  const isAddressAsked = places.some(({ isEndpoint }) => isEndpoint);
  const refusals: RemoteAgentError[] = [];
  let another: FoundCard | undefined;
  for (const { place, isSure, isEndpoint } of places) {
    const limit = isEndpoint ? AbortSignal.any([signal, AbortSignal.timeout(ownPlaceMs)]) : signal;
    const look = (send: Fetch, isOpen: boolean, isLast: boolean) =>
      cardAt(place, agent, { send, isOpen }, limit).catch((error: unknown) => {
        signal.throwIfAborted();
        if (isEndpoint) return undefined;
        const isAnswer = error instanceof RemoteAgentError && error.code !== 'agent_unreachable';
        if (!isAnswer || (isLast && isSure && !isAddressAsked)) throw error;
        if (isLast && isSure) refusals.push(error);
        return undefined;
      });
    const found =
      (await look(open, true, !isKnown)) ?? (isKnown ? await look(identified, false, true) : undefined);
    if (found?.raw === undefined) continue;
    const isItsCard = describesAgent(place, agent);
    if (isItsCard || isNamedBy(found.raw, agent)) return { ...found, isItsCard };
    another ??= { ...found, isItsCard };
  }
  const failure = refusals.find((error) => agent.trust !== undefined || error instanceof ServerError);
  if (failure !== undefined) throw failure;
  const [refusal] = refusals;
  return { ...another, isItsCard: false, ...(refusal && { refusal }) };
}

/** The server could not say whether there is a card. */
class ServerError extends RemoteAgentError {}

function isNamedBy(raw: object, agent: RemoteAgent): boolean {
  try {
    return namesEndpoint(normalise(raw, agent), agent);
  } catch (error) {
    if (error instanceof RemoteAgentError) return false;
    throw error;
  }
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
  if (response.status >= 500) throw new ServerError('agent_error', agent, `HTTP status ${response.status}`);
  const { headers } = response;
  const source = {
    place,
    isOpen,
    lifetimeMs: lifetimeOf(headers),
    etag: headers.get('etag') ?? etag ?? null,
  };
  if (response.status === 304 && etag !== undefined) return { source };
  const isRead = response.ok && !headers.get('content-type')?.startsWith('text/event-stream');
  if (!isRead) await response.body?.cancel();
  const body: unknown = isRead ? await response.json().catch(() => undefined) : undefined;
  if (!isObject(body) || typeof body.name !== 'string') return undefined;
  // Whatever an endpoint shows to GET may have a name.
  const isSure =
    isCardAddress(agent) || place !== agent.url || 'url' in body || 'supportedInterfaces' in body;
  return isSure ? { raw: body, source } : undefined;
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

/**
 * The address may be that of a card, of an endpoint, or of the service. Beside an endpoint there may be its card, but also
 * something else, whose refusals say nothing: that place is not sure. Nor is the address itself where its name does not
 * say that it is a card's; it is not asked where it is that of a service or of the usual endpoint.
 */
function cardPlaces(agent: RemoteAgent): { place: string; isSure: boolean; isEndpoint: boolean }[] {
  const { url } = agent;
  const [base, { origin, search }, isCard] = [baseOf(agent), new URL(url), isCardAddress(agent)];
  const beside = hasOwnPath(agent) ? base.replace(/\/[^/]*$/, '') : origin;
  const places = [base, beside, origin].map((root) => `${root}/.well-known/agent-card.json`);
  const usual = [...places, `${base}/.well-known/agent.json`];
  const own = hasOwnPath(agent) || search !== '' ? [url] : [];
  return [...new Set(isCard ? [url, ...usual] : [...usual, ...own])].map((place) => ({
    place,
    isSure: beside === origin || place !== places[1],
    isEndpoint: !isCard && place === url,
  }));
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

/** A card at the root of a host that several agents share, or beside the agent's path, may be that of another one. */
function describesAgent(place: string, agent: RemoteAgent): boolean {
  return !hasOwnPath(agent) || place === agent.url || place.startsWith(`${baseOf(agent)}/`);
}
