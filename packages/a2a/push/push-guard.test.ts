import { describe, expect, it } from 'vitest';
import { createPushGuard, type PushGuardOptions } from './delivery.ts';

const refusal =
  'webhook url rejected: must be http/https, public IP, not loopback/private/link-local/multicast/reserved';

const names: Record<string, string[]> = {
  'public.example': ['93.184.216.34'],
  'public6.example': ['2606:2800:220:1::1'],
  'private.example': ['10.1.2.3'],
  'mixed.example': ['93.184.216.34', '192.168.0.7'],
};

function guard(options: PushGuardOptions = {}) {
  return createPushGuard({
    lookup: async (host) => {
      const addresses = names[host];
      if (addresses === undefined) throw Object.assign(new Error('unknown host'), { code: 'ENOTFOUND' });
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    ...options,
  });
}

describe('addresses of webhooks', () => {
  it.each([
    ['no address at all', 'not a url'],
    ['another scheme', 'ftp://public.example/x'],
    ['a file', 'file:///etc/passwd'],
    ['script', 'javascript:alert(1)'],
    ['loopback', 'http://127.0.0.1/x'],
    ['loopback, all of it', 'http://127.8.9.10/x'],
    ['loopback as one number', 'http://2130706433/x'],
    ['loopback in octal', 'http://0177.0.0.1/x'],
    ['this host', 'http://0.0.0.0/x'],
    ['a private block of class A', 'http://10.0.0.1/x'],
    ['a private block of class B', 'http://172.16.0.1/x'],
    ['the end of that block', 'http://172.31.255.255/x'],
    ['a private block of class C', 'https://192.168.1.1/x'],
    ['link-local, where clouds keep secrets', 'http://169.254.169.254/latest/meta-data'],
    ['carrier NAT', 'http://100.64.0.1/x'],
    ['multicast', 'http://224.0.0.1/x'],
    ['reserved', 'http://240.0.0.1/x'],
    ['broadcast', 'http://255.255.255.255/x'],
    ['IPv6 loopback', 'http://[::1]/x'],
    ['IPv6 unspecified', 'http://[::]/x'],
    ['IPv6 unique local', 'http://[fd00::1]/x'],
    ['IPv6 link-local', 'http://[fe80::1]/x'],
    ['IPv6 multicast', 'http://[ff02::1]/x'],
    ['IPv4 mapped into IPv6', 'http://[::ffff:127.0.0.1]/x'],
    ['IPv4 mapped, in hex', 'http://[::ffff:a00:1]/x'],
    ['IPv4 through NAT64', 'http://[64:ff9b::10.0.0.1]/x'],
    ['IPv4 through 6to4', 'http://[2002:a00:1::]/x'],
    ['a name for a private address', 'http://private.example/x'],
    ['a name of which one address is private', 'http://mixed.example/x'],
    ['a name that nobody knows', 'http://nowhere.example/x'],
  ])('refuses %s: %s [A136]', async (_what, url) => {
    await expect(guard().check(url)).rejects.toMatchObject({ message: refusal });
  });

  it.each(['http://public.example/x', 'https://public6.example:8443/x', 'http://93.184.216.34/x'])(
    'takes %s',
    async (url) => {
      await expect(guard().check(url)).resolves.toBeUndefined();
    },
  );

  it('takes named hosts without resolving them, whatever their case [A043]', async () => {
    const open = guard({ allowedHosts: ['nowhere.example', ' Private.Example '] });
    await expect(open.check('http://nowhere.example/x')).resolves.toBeUndefined();
    await expect(open.check('http://PRIVATE.example:99/x')).resolves.toBeUndefined();
    await expect(open.check('http://mixed.example/x')).rejects.toMatchObject({ message: refusal });
    await expect(open.check('ftp://nowhere.example/x')).rejects.toMatchObject({ message: refusal });
  });

  it('takes addresses of the listed blocks and no other [A044]', async () => {
    const open = guard({ allowedCidrs: [' 10.0.0.0/8', 'fd00::/8', ''] });
    await expect(open.check('http://10.200.0.1/x')).resolves.toBeUndefined();
    await expect(open.check('http://private.example/x')).resolves.toBeUndefined();
    await expect(open.check('http://[fd12::1]/x')).resolves.toBeUndefined();
    await expect(open.check('http://192.168.0.1/x')).rejects.toMatchObject({ message: refusal });
  });

  it.each(['10.0.0.0/33', 'office', '10.0.0/8', 'fd00::/129'])(
    'names the block %s that is none when it starts [A044]',
    (cidr) => {
      expect(() => guard({ allowedCidrs: ['10.0.0.0/8', cidr] })).toThrow(
        `PUSH_NOTIFICATION_ALLOWED_CIDRS: "${cidr}" is not an address block`,
      );
    },
  );

  it('lets through the origins of the services beside this one, port and all', async () => {
    const related = guard({ allowedOrigins: () => ['http://127.0.0.1:7866'] });
    await expect(related.check('http://127.0.0.1:7866/a2a/callback')).resolves.toBeUndefined();
    for (const url of ['http://127.0.0.1:7867/x', 'https://127.0.0.1:7866/x', 'http://localhost:7866/x'])
      await expect(related.check(url)).rejects.toMatchObject({ message: refusal });
  });
});
