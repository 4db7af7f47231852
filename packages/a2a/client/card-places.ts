import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AgentCard, AgentCard as CardCodec } from '@a2a-js/sdk';
import { isLoopbackHost, refusedKind } from '@trunkline/http';
import { untilAborted } from '@trunkline/std';
import { hasCredentials, isOwnService, type RemoteAgent, RemoteAgentError } from './remote-agent.ts';

/** A name that takes longer to look up is taken for one that cannot be reached. */
const lookupMs = 2000;

/** Of one card. */
const mostLookups = 10;

/** Gives every address of a host; fails where it has none. */
type Resolve = (host: string) => Promise<readonly string[]>;

interface Reading {
  /** False for the card at the root of a host that several agents share: it may be that of another. */
  isItsCard: boolean;
  signal: AbortSignal;
  resolve?: Resolve;
}

/**
 * `places`: addresses at the configured host where JSON-RPC may be spoken, the likeliest first; the one that answered is
 * moved to the front. `unbelieved`: the host that the card names, which is not asked.
 */
export type Interface = AgentCard['supportedInterfaces'][number] & { places?: string[]; unbelieved?: string };

/** Its address as the operator gave it. `isCard`: a card was read there, so it is no endpoint. */
export type Address = Pick<RemoteAgent, 'url'> & { isCard?: boolean };

/** `refusal`: why nobody knows whether the agent has a card; this one is assumed, or that of its host. */
export type PlacedCard = Omit<AgentCard, 'supportedInterfaces'> & {
  supportedInterfaces: Interface[];
  isCard?: boolean;
  refusal?: RemoteAgentError;
};

/** Of a path that a card names: at most so many of its ends are tried at the configured host. */
const mostPlaces = 5;

/**
 * The interfaces where the agent's card says, as long as we may believe it (see `placeOf`). A host that is unspecified or
 * cannot be reached is replaced by the configured one. Where the card is not believed, JSON-RPC is spoken at the
 * configured address.
 */
export async function placeInterfaces(
  card: AgentCard,
  agent: RemoteAgent & Address,
  { isItsCard, signal, resolve = addressesOf }: Reading,
): Promise<PlacedCard> {
  const own = new URL(agent.url);
  const beside = isItsCard ? [] : interfacesBeside(own, card);
  if (beside.length > 0) return { ...card, supportedInterfaces: beside };
  const reach = reachOfHosts(resolve, signal);
  const elsewhere = new Set<string>();
  const supportedInterfaces: Interface[] = [];
  for (const entry of card.supportedInterfaces) {
    const url = isItsCard ? addressOf(entry, own) : null;
    const place = url === null ? 'elsewhere' : await placeOf(url, entry, agent, reach);
    if (url !== null && place === 'there') supportedInterfaces.push({ ...entry, url: url.href });
    else if (url !== null && place === 'own-host' && !hasOwnPath(agent))
      supportedInterfaces.push(...onOwnHost(url, own, entry).map((one) => withPlaces(one, url, agent)));
    else {
      if (url !== null) elsewhere.add(url.host);
      supportedInterfaces.push(...atConfigured(url, agent, entry));
    }
  }
  if (supportedInterfaces.length === 0 && elsewhere.size > 0)
    throw new RemoteAgentError('agent_elsewhere', agent, [...elsewhere].slice(0, 3).join(', '));
  return { ...card, supportedInterfaces };
}

/**
 * Of a card that may be another agent's: its interfaces at the configured host and port, if the configured address is one
 * of them. Then the card is the agent's, but as others may share the host, it leads nowhere else.
 */
function interfacesBeside(own: URL, card: AgentCard): Interface[] {
  const onHost = card.supportedInterfaces.flatMap((entry) => {
    const url = addressOf(entry, own);
    return url !== null && !isGrpc(entry) && isSameService(url, own, entry) ? onOwnHost(url, own, entry) : [];
  });
  return onHost.some(({ url }) => isSameEndpoint(url, own.href)) ? onHost : [];
}

/** Whether the configured address is an interface of the card, which is that of the agent then, wherever it was found. */
export function namesEndpoint(card: AgentCard, { url }: RemoteAgent): boolean {
  return interfacesBeside(new URL(url), card).length > 0;
}

/** Whatever name of this machine they have, and with or without a slash at the end of the path. */
export function isSameEndpoint(one: string, other: string): boolean {
  const [first = '', second] = [one, other].map((address) => {
    const { protocol, hostname, port, pathname, search } = new URL(address);
    const host = isLoopbackHost(hostname) ? 'localhost' : hostname;
    return `${protocol}//${host}:${port}${pathname.replace(/\/+$/, '')}${search}`;
  });
  return first === second;
}

/**
 * `there`: the card is believed. TLS says who wrote a card that was read over HTTPS, and whoever wrote it gets our
 * credentials anyway; so it may name any public host, but none of our own network. Any card may name another port of its
 * host, unless credentials go with the request without TLS: the agent may stand behind a tunnel or in a container and mean
 * a port in there, and at that port here anybody may listen.
 */
async function placeOf(
  url: URL,
  entry: Interface,
  agent: RemoteAgent,
  reach: (host: string) => Promise<Reach>,
): Promise<'there' | 'own-host' | 'elsewhere'> {
  const own = new URL(agent.url);
  if (isSameService(url, own, entry) || isAllowed(url, agent)) return 'there';
  // The host of a public address says nothing of the address that we have of our own service.
  if (isOwnService(agent)) return 'elsewhere';
  if (isUnspecified(url)) return 'own-host';
  const isFree = !hasCredentials(agent) && isProtected(url, own);
  if (isLoopbackHost(url.hostname)) return isFree && isLoopbackHost(own.hostname) ? 'there' : 'own-host';
  const isBelieved = own.protocol === 'https:' && url.protocol === 'https:';
  if (url.hostname === own.hostname && (isBelieved || isFree)) return 'there';
  const found = await reach(url.hostname);
  if (found === 'none') return 'own-host';
  if (!isBelieved) return 'elsewhere';
  return found === 'public' ? 'there' : 'own-host';
}

type Reach = 'public' | 'private' | 'none';

/** A name that leads to us only later does no harm: over TLS nobody there can answer for it. */
function reachOfHosts(resolve: Resolve, signal: AbortSignal): (host: string) => Promise<Reach> {
  const known = new Map<string, Reach>();
  return async (host) => {
    const before = known.get(host);
    if (before !== undefined) return before;
    if (known.size >= mostLookups) return 'private';
    const limit = AbortSignal.any([signal, AbortSignal.timeout(lookupMs)]);
    const addresses = await untilAborted(resolve(host.replace(/^\[|\]$/g, '')), limit).catch(() => {
      signal.throwIfAborted();
      return [];
    });
    const found = reachOf(addresses);
    known.set(host, found);
    return found;
  };
}

function reachOf(addresses: readonly string[]): Reach {
  if (addresses.length === 0) return 'none';
  return addresses.every((address) => refusedKind(address) === undefined) ? 'public' : 'private';
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

const isGrpc = ({ protocolBinding }: Interface) => protocolBinding.toUpperCase() === 'GRPC';

/** Of gRPC as `http:` or `https:`, by which it is encrypted or not: cards write it in many ways, often as host and port alone. */
function addressOf(entry: Interface, own: URL): URL | null {
  if (!isGrpc(entry)) return parseUrl(entry.url, own);
  const [, scheme, place = ''] = /^(?:([a-z]+):\/\/\/?)?([^/?#]*)/i.exec(entry.url) ?? [];
  const protocols: Record<string, string> = {
    http: 'http:',
    https: 'https:',
    grpc: 'http:',
    grpcs: 'https:',
  };
  const protocol = protocols[scheme?.toLowerCase() ?? ''] ?? own.protocol;
  return parseUrl(`${protocol}//${place.startsWith(':') ? `0.0.0.0${place}` : place}`);
}

/** As `URL.parse`, which the Node of programs that use our client may not have yet. */
function parseUrl(url: string, base?: URL): URL | null {
  return URL.canParse(url, base?.href) ? new URL(url, base) : null;
}

/** gRPC has a port of its own; it is encrypted wherever the configured address is. */
function isSameService(url: URL, own: URL, entry: Interface): boolean {
  if (url.origin === own.origin) return true;
  const areLoopback = isLoopbackHost(url.hostname) && isLoopbackHost(own.hostname);
  const isSameHost = areLoopback || url.hostname === own.hostname;
  if (isGrpc(entry)) return isSameHost && isProtected(url, own);
  return areLoopback && url.port === own.port && url.protocol === own.protocol;
}

/** The operator named the host; what goes there is as well protected as at the configured address. */
function isAllowed(url: URL, { url: own, cardHosts = [] }: RemoteAgent): boolean {
  const isNamed = cardHosts.includes(url.host) || cardHosts.includes(url.hostname);
  return isNamed && isProtected(url, new URL(own));
}

function isProtected(url: URL, own: URL): boolean {
  return url.protocol === 'https:' || own.protocol === 'http:';
}

function isUnspecified({ hostname }: URL): boolean {
  return hostname === '0.0.0.0' || hostname === '[::]';
}

/** The path that the card names, at the configured host. gRPC keeps its port, and its encryption where we ask for one. */
function onOwnHost(url: URL, own: URL, entry: Interface): Interface[] {
  if (!isGrpc(entry)) return [{ ...entry, url: own.origin + url.pathname + url.search }];
  if (own.protocol !== url.protocol) return [];
  return [{ ...entry, url: `${url.protocol}//${own.hostname}${url.port && `:${url.port}`}` }];
}

/** JSON-RPC alone: where the operator named its endpoint, or by the card's path where they named but the service. */
function atConfigured(url: URL | null, agent: RemoteAgent & Address, entry: Interface): Interface[] {
  const isCard = isCardAddress(agent);
  if (entry.protocolBinding !== 'JSONRPC' || (isCard && !isOwnService(agent))) return [];
  const own = new URL(agent.url);
  if (url === null) return isCard ? [] : [{ ...entry, url: agent.url }];
  const placed = isCard || own.pathname === '/' ? onOwnHost(url, own, entry) : [{ ...entry, url: agent.url }];
  const unbelieved = isOwnService(agent) ? {} : { unbelieved: url.host };
  return placed.map((one) => ({ ...withPlaces(one, url, agent), ...unbelieved }));
}

/**
 * A proxy may have put a path before that of the service, or taken one away: where nobody is at the place of the entry,
 * the ends of the path that the card names are asked below the configured address. Our own services are at the
 * shortest, as they know no path but their own.
 */
function withPlaces(entry: Interface, named: URL, agent: RemoteAgent & Address): Interface {
  if (entry.protocolBinding !== 'JSONRPC') return entry;
  const base = baseOf(agent);
  const steps = named.pathname.split('/').slice(1);
  const ends = steps.map((_, start) => `${base}/${steps.slice(start).join('/')}${named.search}`);
  const configured = isCardAddress(agent) || new URL(agent.url).pathname === '/' ? [] : [agent.url];
  const likely = isOwnService(agent)
    ? [...configured, ...ends.reverse()]
    : [entry.url, ...configured, ...ends];
  const places = [...new Set(likely)].slice(0, mostPlaces);
  return { ...entry, url: places[0] ?? entry.url, places };
}

/** The address of a service without a slash at its end: of an endpoint `/a2a`, or of a card, what stands before it. */
export function baseOf(address: Address): string {
  const { origin, pathname } = new URL(address.url);
  const path = pathname.replace(/\/+$/, '');
  // REST of 0.3 has its card at `/v1/card`.
  const end = isCardAddress(address) ? /\/(v1\/card|(\.well-known\/)?[^/]*)$/ : /\/a2a$/;
  return origin + path.replace(end, '');
}

export function isCardAddress({ url, isCard = false }: Address): boolean {
  return isCard || new URL(url).pathname.endsWith('.json');
}

/** Whether the operator named more than a service or its usual endpoint. */
export function hasOwnPath(address: Address): boolean {
  return !isCardAddress(address) && !/^\/(a2a\/?)?$/.test(new URL(address.url).pathname);
}

/** Where to ask when nothing takes a connection at the interface that a card names; undefined where it is the configured host. */
export function standInFor(agent: RemoteAgent & Address, { url }: Interface): string | undefined {
  const [own, named] = [new URL(agent.url), new URL(url)];
  // A signature is about the address that stands in the card.
  if (named.origin === own.origin || agent.trust !== undefined) return undefined;
  return hasOwnPath(agent) ? agent.url : own.origin + named.pathname + named.search;
}

/**
 * What the signature covers, and nothing else: the fields of 1.0, and interfaces as they stand, at the configured host.
 * A card that was signed for another address says nothing about who answers at this one, unless the operator pinned the
 * very key: its owner may say where the agent is, and the encryption there proves it.
 */
export function signedInterfaces(
  card: AgentCard,
  agent: RemoteAgent,
  { isItsCard, isPinned }: { isItsCard: boolean; isPinned: boolean },
): PlacedCard {
  const own = new URL(agent.url);
  if (!isItsCard && !namesEndpoint(card, agent))
    throw new RemoteAgentError('agent_unverified', agent, `the card of its host does not name ${agent.url}`);
  const supportedInterfaces = card.supportedInterfaces.flatMap((entry) => {
    const isWritten = isGrpc(entry) || URL.canParse(entry.url);
    const url = isWritten ? addressOf(entry, own) : null;
    if (url === null) return [];
    const isOurs = isSameService(url, own, entry) || isAllowed(url, agent);
    return isOurs || (isPinned && url.protocol === 'https:') ? [{ ...entry, url: url.href }] : [];
  });
  if (supportedInterfaces.length === 0)
    throw new RemoteAgentError('agent_unverified', agent, `its card is not for ${own.origin}`);
  return { ...card, supportedInterfaces };
}

/** An agent that has no card at all is taken to speak 0.3. */
export function assumedCard({ name, url }: RemoteAgent): PlacedCard {
  return CardCodec.fromJSON({
    name,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    capabilities: { streaming: true, pushNotifications: true },
  });
}
