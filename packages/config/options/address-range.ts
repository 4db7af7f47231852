import { isIP } from 'node:net';

/** Tells whether a text names a range of addresses, IPv4 or IPv6: `10.0.0.0/8`. The check of options that list some. */
export function isAddressRange(range: string): boolean {
  const [address = '', bits, ...more] = range.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && bits !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= longest;
}
