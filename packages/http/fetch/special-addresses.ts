import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { lazy } from '@trunkline/std';

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

const blocks = lazy(() => ({
  globalUnicast: blockList('2000::/3'),
  refused: [...REFUSED_IPV4, ...REFUSED_IPV6].map(([block, kind]) => ({ list: blockList(block), kind })),
}));

/** What is wrong with an address for public use, or undefined when nothing is. */
export function refusedKind(address: string): string | undefined {
  const plain = withoutZone(address);
  if (!isIPv4(plain) && !isIPv6(plain)) return 'not an address';
  const inner = embeddedIpv4(plain);
  if (inner !== undefined) return refusedKind(inner);
  const { refused, globalUnicast } = blocks();
  const found = refused.find(({ list }) => contains(list, plain));
  if (found !== undefined) return found.kind;
  return isIPv6(plain) && !contains(globalUnicast, plain) ? 'a reserved address' : undefined;
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

/** An IPv4 address, or the /64 network of an IPv6 address: who has one of its addresses has them all. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = expandIpv6(address).slice(0, 4);
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

export function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address; false when it is none of them. */
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
