import { lookup as dnsLookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { untilAborted } from '@trunkline/std';
import { defineErrors } from '../errors/http-error.ts';
import { addBlock, contains, embeddedIpv4, refusedKind } from './special-addresses.ts';

const DEFAULT_TIMEOUT_MS = 5_000;

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
      if (host.length > LONGEST_HOST) throw fetchErrors.host_unresolved({ host: host.slice(0, 80) });
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

/** Of names in DNS, with the dot at the end. */
const LONGEST_HOST = 254;

/** The URL parser also turns odd spellings of addresses (0x7f.1, 2130706433) into plain ones. */
export function parseFetchableUrl(input: string | URL): URL {
  const url = URL.parse(String(input));
  if (url === null || url.hostname.length > LONGEST_HOST)
    throw fetchErrors.url_invalid({ url: String(input).slice(0, 200) });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fetchErrors.url_scheme_refused({ protocol: url.protocol });
  }
  if (url.username !== '' || url.password !== '') throw fetchErrors.url_credentials_refused();
  return url;
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
  redirect_refused: [
    403,
    (target: { url: string }) =>
      `The address redirects to ${target.url}, which this request may not read. Ask for that address itself.`,
  ],
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
