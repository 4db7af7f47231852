import { lookup as dnsLookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { defineErrors } from '../errors/http-error.ts';

const DEFAULT_TIMEOUT_MS = 5_000;

/** Blocks that lead into this machine, its networks, or nowhere; from the IANA special-purpose registries. */
const REFUSED_IPV4: readonly (readonly [block: string, kind: string])[] = [
  ['0.0.0.0/8', 'an unspecified address'],
  ['127.0.0.0/8', 'a loopback address'],
  ['10.0.0.0/8', 'a private address'],
  ['172.16.0.0/12', 'a private address'],
  ['192.168.0.0/16', 'a private address'],
  ['100.64.0.0/10', 'a shared carrier address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['192.0.0.0/24', 'a reserved address'],
  ['192.0.2.0/24', 'a documentation address'],
  ['192.88.99.0/24', 'a reserved address'],
  ['198.18.0.0/15', 'a benchmarking address'],
  ['198.51.100.0/24', 'a documentation address'],
  ['203.0.113.0/24', 'a documentation address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['240.0.0.0/4', 'a reserved address'],
];

/** Within global unicast, what is still not an ordinary host; the rest of IPv6 is refused as a whole. */
const REFUSED_IPV6: readonly (readonly [block: string, kind: string])[] = [
  ['::1/128', 'a loopback address'],
  ['::/128', 'an unspecified address'],
  ['fc00::/7', 'a private address'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a private address'],
  ['ff00::/8', 'a multicast address'],
  ['2001::/23', 'a reserved address'],
  ['2001:db8::/32', 'a documentation address'],
  ['2002::/16', 'a 6to4 relay address'],
  ['3fff::/20', 'a documentation address'],
];

const GLOBAL_UNICAST = blockList('2000::/3');

const REFUSED = [...REFUSED_IPV4, ...REFUSED_IPV6].map(([block, kind]) => ({ list: blockList(block), kind }));

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** Finds every address of a host. Given by tests, and by callers with a resolver of their own. */
export type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

export interface AddressPolicyOptions {
  /** Hosts that skip the check entirely. */
  allowedHosts?: readonly string[];
  /** Blocks that are open although they are not public. */
  allowedCidrs?: readonly string[];
  lookup?: Lookup;
}

export interface AddressPolicy {
  /** Resolves once and gives the addresses back, all of them checked; throws when one may not be reached. */
  resolve(host: string, signal: AbortSignal): Promise<readonly ResolvedAddress[]>;
}

export function createAddressPolicy(options: AddressPolicyOptions): AddressPolicy {
  const hosts = new Set((options.allowedHosts ?? []).map(plainHost));
  const open = openBlocks(options.allowedCidrs ?? []);
  const lookup = options.lookup ?? lookupAll;
  return {
    async resolve(host, signal) {
      const name = plainHost(host);
      const addresses = await addressesOf(name, lookup, signal);
      if (!hosts.has(name)) for (const { address } of addresses) assertOpen(name, address, open);
      return addresses;
    },
  };
}

/** Lower case, without brackets and without the dot that ends a full domain name. */
function plainHost(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '');
}

function openBlocks(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    if (cidr.trim() !== '' && !addBlock(list, cidr)) throw fetchErrors.cidr_invalid({ cidr });
  }
  return list;
}

function assertOpen(host: string, address: string, open: BlockList): void {
  const kind = refusedKind(address);
  if (kind === undefined || contains(open, address)) return;
  const inner = embeddedIpv4(address);
  if (inner !== undefined && contains(open, inner)) return;
  throw fetchErrors.address_refused({ host, kind });
}

async function addressesOf(
  host: string,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const addresses = await untilAborted(lookup(host), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw fetchErrors.host_unresolved({ host }, { cause: error });
  });
  if (addresses.length === 0) throw fetchErrors.host_unresolved({ host });
  return addresses;
}

function lookupAll(host: string): Promise<readonly ResolvedAddress[]> {
  return dnsLookup(host, { all: true });
}

/** What is wrong with an address for public use, or undefined when nothing is. */
export function refusedKind(address: string): string | undefined {
  const plain = withoutZone(address);
  if (!isIPv4(plain) && !isIPv6(plain)) return 'not an address';
  const inner = embeddedIpv4(plain);
  if (inner !== undefined) return refusedKind(inner);
  const refused = REFUSED.find(({ list }) => contains(list, plain));
  if (refused !== undefined) return refused.kind;
  return isIPv6(plain) && !contains(GLOBAL_UNICAST, plain) ? 'a reserved address' : undefined;
}

/** The IPv4 address that an IPv4-mapped (::ffff:0:0/96) or NAT64 (64:ff9b::/96) address stands for. */
export function embeddedIpv4(address: string): string | undefined {
  if (!isIPv6(withoutZone(address))) return undefined;
  const groups = expandIpv6(withoutZone(address));
  const prefix = groups.slice(0, 6).join(':');
  if (prefix !== '0:0:0:0:0:65535' && prefix !== '100:65435:0:0:0:0') return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address; undefined when it is none of them. */
export function addBlock(list: BlockList, block: string): boolean {
  const [address = '', length, ...more] = block.trim().split('/');
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const bits = family === 'ipv6' ? 128 : 32;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (more.length > 0 || (!isIPv4(address) && !isIPv6(address)) || prefix < 0 || prefix > bits) return false;
  list.addSubnet(address, prefix, family);
  return true;
}

function blockList(block: string): BlockList {
  const list = new BlockList();
  addBlock(list, block);
  return list;
}

function withoutZone(address: string): string {
  const percent = address.indexOf('%');
  return percent === -1 ? address : address.slice(0, percent);
}

/** Eight numbers; the URL parser brings every spelling into one form first. */
function expandIpv6(address: string): number[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

/** Why an address that someone supplied was not fetched. */
export const fetchErrors = defineErrors({
  url_invalid: [400, (given: { url: string }) => `"${given.url}" is not a web address.`],
  url_scheme_refused: [
    400,
    (given: { protocol: string }) =>
      `Only http and https addresses can be fetched, not ${given.protocol.replace(/:$/, '')}.`,
  ],
  url_credentials_refused: [400, 'The address holds a user name or password. Give it without them.'],
  address_refused: [
    400,
    (target: { host: string; kind: string }) =>
      `${target.host} leads to ${target.kind}. Only public addresses can be fetched; the operator can open others with FETCH_ALLOWED_HOSTS or FETCH_ALLOWED_CIDRS.`,
  ],
  host_unresolved: [400, (target: { host: string }) => `No address is known for the host ${target.host}.`],
  redirects_exceeded: [
    502,
    (limit: { count: number }) => `The address redirected more than ${limit.count} times.`,
  ],
  redirect_invalid: [502, 'The address redirected to something that is not a web address.'],
  response_too_large: [502, (limit: { bytes: number }) => `The answer is larger than ${limit.bytes} bytes.`],
  fetch_timeout: [
    504,
    (target: { host: string; ms: number }) =>
      `${target.host} did not finish its answer within ${target.ms} ms.`,
  ],
  fetch_failed: [
    502,
    (target: { host: string; reason: string }) => `${target.host} could not be fetched: ${target.reason}.`,
  ],
  cidr_invalid: [
    500,
    (given: { cidr: string }) =>
      `"${given.cidr}" is not an address block. Write it like 10.0.0.0/8 or fd00::/8.`,
  ],
});

/** Work that cannot be called off is left behind: who waits for it is free as soon as the signal says so. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

interface PublicUrlOptions extends AddressPolicyOptions {
  signal?: AbortSignal;
  /** For the resolver; default 5 seconds. */
  timeoutMs?: number;
}

interface CheckedUrl {
  url: URL;
  addresses: readonly ResolvedAddress[];
}

/** Throws unless the address is http or https and every address of its host may be reached. */
export async function assertPublicUrl(
  input: string | URL,
  options: PublicUrlOptions = {},
): Promise<CheckedUrl> {
  const url = parseFetchableUrl(input);
  const ms = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = AbortSignal.timeout(ms);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
  try {
    return { url, addresses: await createAddressPolicy(options).resolve(url.hostname, signal) };
  } catch (error) {
    if (deadline.aborted && !options.signal?.aborted)
      throw fetchErrors.fetch_timeout({ host: url.hostname, ms });
    throw error;
  }
}

/** The URL parser also turns odd spellings of addresses (0x7f.1, 2130706433) into plain ones. */
export function parseFetchableUrl(input: string | URL): URL {
  const url = URL.parse(String(input));
  if (url === null) throw fetchErrors.url_invalid({ url: String(input).slice(0, 200) });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fetchErrors.url_scheme_refused({ protocol: url.protocol });
  }
  if (url.username !== '' || url.password !== '') throw fetchErrors.url_credentials_refused();
  return url;
}
