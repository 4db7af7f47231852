import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { assertPublicUrl, createAddressPolicy, type Lookup } from './address-policy.ts';
import { code, failure, lookupOf, startWeb, text } from './fixtures/test-web.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { addBlock, embeddedIpv4, refusedKind } from './special-addresses.ts';

describe('refusedKind', () => {
  it.each([
    '127.0.0.1',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '100.127.255.255',
    '169.254.169.254',
    '0.0.0.0',
    '0.1.2.3',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::127.0.0.1',
    '::2',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    '100::1',
    '2001::1',
    '2001:10::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::',
    '3fff::1',
    '4000::1',
    '5f00::1',
    '64:ff9b:1::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::FFFF:169.254.169.254',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a00:1',
    '::ffff:0:127.0.0.1',
    'nonsense',
    '',
    '1.2.3',
  ])('refuses %j', (address) => {
    expect(refusedKind(address)).toEqual(expect.any(String));
  });

  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '126.0.0.1',
    '128.0.0.1',
    '169.253.1.1',
    '169.255.1.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.0.1',
    '192.169.0.1',
    '198.17.0.1',
    '198.20.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '2a00:1450::1',
    '2001:200::1',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ])('lets %j through', (address) => {
    expect(refusedKind(address)).toBeUndefined();
  });
});

describe('embeddedIpv4', () => {
  it.each([
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['0:0:0:0:0:ffff:102:304', '1.2.3.4'],
    ['64:ff9b::102:304', '1.2.3.4'],
    ['::1.2.3.4', undefined],
    ['2606:4700::1', undefined],
    ['1.2.3.4', undefined],
  ])('%s', (address, expected) => {
    expect(embeddedIpv4(address)).toBe(expected);
  });
});

describe('addBlock', () => {
  it.each(['10.0.0.0/8', ' 192.168.1.7/32 ', '10.1.2.3', 'fd00::/8', '::1', '0.0.0.0/0'])(
    'takes %j',
    (block) => {
      expect(addBlock(new BlockList(), block)).toBe(true);
    },
  );

  it.each([
    '10.0.0.0/33',
    '10.0.0/8',
    'fd00::/129',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'ten',
    '10.0.0.0/1e1',
    '/8',
    '',
  ])('refuses %j', (block) => {
    expect(addBlock(new BlockList(), block)).toBe(false);
  });
});

describe('what may be asked for', () => {
  it.each([
    ['file:///etc/passwd', 'url_scheme_refused'],
    ['ftp://example.com/', 'url_scheme_refused'],
    ['data:text/plain,hi', 'url_scheme_refused'],
    ['gopher://example.com/', 'url_scheme_refused'],
    ['http://user:pass@example.com/', 'url_credentials_refused'],
    ['http://user@example.com/', 'url_credentials_refused'],
    ['not an address', 'url_invalid'],
    ['http://', 'url_invalid'],
    ['http://999.1.1.1/', 'url_invalid'],
  ])('%s: %s', async (url, expected) => {
    expect(await code(createGuardedFetch()(url))).toBe(expected);
    expect(await code(assertPublicUrl(url))).toBe(expected);
  });

  it('no host of a million dots, which would be looked through from each of them', async () => {
    const host = `${'.'.repeat(1_000_000)}a`;
    expect(await code(assertPublicUrl(`http://${host}/`))).toBe('url_invalid');
    const { resolve } = createAddressPolicy({});
    expect(await code(resolve(host, AbortSignal.timeout(60_000)))).toBe('host_unresolved');
  });
});

describe('addresses that are not public', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://127.0.0.1./',
    'http://0/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://①②⑦.0.0.1/',
    'https://192.168.0.1/',
  ])('%s is refused without a connection', async (url) => {
    const { lookup, asked } = lookupOf(['8.8.8.8']);
    expect(await code(createGuardedFetch({ lookup })(url))).toBe('address_refused');
    expect(await code(assertPublicUrl(url, { lookup }))).toBe('address_refused');
    expect(asked()).toBe(0);
  });

  it('a real server on loopback is not reached by number, nor by the name localhost', async () => {
    const web = await startWeb(text('secret'));
    for (const host of ['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST']) {
      expect(await code(createGuardedFetch()(`http://${host}:${web.port}/`)), host).toBe('address_refused');
    }
    expect(web.requests).toHaveLength(0);
  });

  it('a name is refused when one of its addresses is private', async () => {
    const { lookup } = lookupOf(['8.8.8.8', '10.0.0.1']);
    expect(await code(createGuardedFetch({ lookup })('http://mixed.example/'))).toBe('address_refused');
  });

  it('the words name the host and the setting, not the address behind it', async () => {
    const { lookup } = lookupOf(['10.11.12.13']);
    const { message } = await failure(createGuardedFetch({ lookup })('http://intranet.example/'));
    expect(message).toContain('intranet.example leads to a private address');
    expect(message).toContain('FETCH_ALLOWED_HOSTS');
    expect(message).not.toContain('10.11');
  });

  it('a name without an address is told apart', async () => {
    const none = lookupOf([]);
    expect(await code(createGuardedFetch({ lookup: none.lookup })('http://none.example/'))).toBe(
      'host_unresolved',
    );
    const fails: Lookup = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await code(assertPublicUrl('http://none.example/', { lookup: fails }))).toBe('host_unresolved');
  });
});

describe('a name that changes its address', () => {
  it('is asked for once a connection, and the connection goes to what was checked', async () => {
    const web = await startWeb(text('secret'));
    const { lookup, asked } = lookupOf(['127.0.0.2'], ['127.0.0.1']);
    const fetchOpen = createGuardedFetch({ lookup, allowedCidrs: ['127.0.0.2/32'], timeoutMs: 3000 });
    expect(await code(fetchOpen(`http://rebind.example:${web.port}/`))).toBe('fetch_failed');
    expect(asked()).toBe(1);
    expect(web.requests).toHaveLength(0);
  });

  it('passes the check at registration and is caught when it is used', async () => {
    const web = await startWeb(text('secret'));
    const { lookup } = lookupOf(['93.184.215.14'], ['127.0.0.1']);
    const url = `http://rebind.example:${web.port}/hook`;
    expect((await assertPublicUrl(url, { lookup })).addresses).toEqual([
      { address: '93.184.215.14', family: 4 },
    ]);
    expect(await code(createGuardedFetch({ lookup })(url, { method: 'POST', body: '{}' }))).toBe(
      'address_refused',
    );
    expect(web.requests).toHaveLength(0);
  });

  it('keeps the name in the Host header although it connects by address', async () => {
    const web = await startWeb((request, response) => void response.end(request.headers.host));
    const { lookup } = lookupOf(['127.0.0.1']);
    const fetchOpen = createGuardedFetch({ lookup, allowedCidrs: ['127.0.0.0/8'] });
    const answer = await fetchOpen(`http://Site.Example:${web.port}/`);
    expect(answer.text()).toBe(`site.example:${web.port}`);
  });
});

describe('what the operator opens', () => {
  it.each([
    ['a host', { allowedHosts: [' 127.0.0.1 '] }],
    ['a host by name', { allowedHosts: ['LocalHost.'] }],
    ['a block', { allowedCidrs: ['127.0.0.0/8', '', ' ::1/128 '] }],
    ['one address', { allowedCidrs: ['127.0.0.1', '::1'] }],
  ])('%s', async (name, options) => {
    const web = await startWeb(text('inside'));
    const host = name === 'a host by name' ? 'localhost' : '127.0.0.1';
    const answer = await createGuardedFetch(options)(`http://${host}:${web.port}/`);
    expect(answer.text()).toBe('inside');
    await expect(assertPublicUrl(web.url, { allowedCidrs: ['127.0.0.0/8'] })).resolves.toBeDefined();
  });

  it('reaches a block also through its IPv4-mapped form', async () => {
    const web = await startWeb(text('inside'));
    const answer = await createGuardedFetch({ allowedCidrs: ['127.0.0.0/8'] })(
      `http://[::ffff:127.0.0.1]:${web.port}/`,
    );
    expect(answer.text()).toBe('inside');
  });

  it('opens nothing else', async () => {
    const options = { allowedHosts: ['trusted.example'], allowedCidrs: ['10.0.0.0/8'] };
    expect(await code(createGuardedFetch(options)('http://127.0.0.1/'))).toBe('address_refused');
    expect(await code(createGuardedFetch(options)('http://192.168.0.1/'))).toBe('address_refused');
  });

  it('names a block that is none at once', () => {
    expect(() => createGuardedFetch({ allowedCidrs: ['10.0.0.0/8', '10.0.0.0/99'] })).toThrow(
      '"10.0.0.0/99"',
    );
  });
});
