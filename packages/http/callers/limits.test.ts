import { type AccountAccess, accountPrincipal, operatorAccess } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { callerGuard, createKeyring } from './caller-guard.ts';
import type { LimitOptions } from './limits.ts';

const MINUTE = 60_000;

const accounts = {
  principalFor: (proof) =>
    'key' in proof && proof.key === 'tlk_guest' ? accountPrincipal('gus', 'guest') : undefined,
} as AccountAccess;

/** A service behind a proxy on this machine, with a key that a person chose, and a clock that the test moves. */
async function start(limits: LimitOptions = {}) {
  const { path: home, remove } = temporaryDirectory();
  onTestFinished(remove);
  const clock = { now: 1_000_000 };
  const metrics = createMetrics({ prefix: 'sample' });
  const operator = operatorAccess(home);
  const events: string[] = [];
  const audit = {
    record: ({ action, result }: { action: string; result?: string | undefined }) =>
      void events.push(`${action} ${result}`),
  };
  const server = await startApp(
    (app) => {
      app.use(
        '/api/*',
        callerGuard({
          keyring: createKeyring([{ key: 'summer', caller: { id: 'ann' } }]),
          trustedCaller: ({ id }) => ({ id }),
        }),
      );
      const operators = createKeyring([{ key: 'autumn', caller: { id: 'operator' } }]);
      const console = callerGuard({
        keyring: operators,
        credentials: ['bearer'],
        except: ['/console/events'],
        guestPaths: ['/console'],
      });
      app.use('/console/*', async (_context, next) => {
        await Promise.resolve();
        return next();
      });
      app.use('/console/*', console);
      app.get('/console/:page', (context) => context.text(context.get('principal').id));
      app.get('/api/who', (context) => context.text(context.get('caller').id));
      app.get('/assets/page.js', (context) => context.text('page'));
    },
    {
      metrics,
      access: { operator, audit, accounts },
      limits: { trustedProxies: ['127.0.0.0/8', '10.9.9.9'], now: () => clock.now, ...limits },
    },
  );
  const ask = (key: string | undefined, from = '203.0.113.1', path = '/api/who') =>
    fetch(`${server.url}${path}`, {
      headers: { 'x-forwarded-for': from, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    });
  const guess = async (count: number, from?: string, prefix = 'guess') => {
    const statuses = new Set<number>();
    for (let index = 0; index < count; index += 1)
      statuses.add((await ask(`${prefix}-${index}`, from)).status);
    return [...statuses];
  };
  return {
    clock,
    metrics,
    events,
    ask,
    guess,
    url: server.url,
    port: server.port,
    operatorKey: operator.secrets[0] ?? '',
  };
}

it('stops looking at keys from an address that guesses, right ones too, and says how long', async () => {
  const { clock, events, metrics, ask, guess } = await start();
  expect(await guess(10)).toEqual([401]);
  const refused = await ask('summer');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
  expect(await refused.json()).toMatchObject({
    code: 'key_attempts',
    message: expect.stringContaining('not looked at for 60 s'),
  });
  expect((await ask(undefined)).status).toBe(401);
  expect((await ask('summer', '203.0.113.2')).status).toBe(200);
  expect(events).toContain('http.refused 429');
  expect(await metrics.render()).toContain('sample_http_wrong_keys_total 10');
  expect(await metrics.render()).toContain('sample_http_limited_requests_total{reason="keys"} 1');
  clock.now += MINUTE;
  expect((await ask('summer')).status).toBe(200);
});

it('pauses longer each time, and never for more than 15 minutes', async () => {
  const { clock, ask, guess } = await start();
  const pauses = [];
  for (let round = 0; round < 6; round += 1) {
    expect(await guess(10, undefined, `round-${round}`)).toEqual([401]);
    const seconds = Number((await ask('summer')).headers.get('retry-after'));
    pauses.push(seconds);
    clock.now += seconds * 1000;
  }
  expect(pauses).toEqual([60, 120, 240, 480, 900, 900]);
  clock.now += 61 * MINUTE;
  await guess(10);
  expect((await ask('summer')).headers.get('retry-after')).toBe('60');
});

it('counts a program with one old key once, and always takes what cannot be guessed', async () => {
  const { ask, guess, operatorKey } = await start();
  for (let index = 0; index < 30; index += 1) expect((await ask('winter')).status).toBe(401);
  expect((await ask('summer')).status).toBe(200);
  await guess(10);
  expect((await ask('summer')).status).toBe(429);
  expect(await (await ask(operatorKey)).text()).toBe('operator');
});

it('believes X-Forwarded-For of trusted proxies only, and takes an IPv6 network for one address', async () => {
  const { ask, guess } = await start();
  // The client wrote the first entry, a proxy the second, a proxy in front of it the third.
  const spoofed = (index: number) => `198.51.100.${index}, 203.0.113.7, 10.9.9.9`;
  for (let index = 0; index < 10; index += 1) await ask(`guess-${index}`, spoofed(index));
  expect((await ask('summer', spoofed(99))).status).toBe(429);
  expect((await ask('summer', '198.51.100.1')).status).toBe(200);
  for (let index = 0; index < 10; index += 1) await ask(`guess-${index}`, `[2001:db8::${index}]:4711`);
  expect((await ask('summer', '2001:db8:0:0:ffff::1')).status).toBe(429);
  expect((await ask('summer', '2001:db8:0:1::1')).status).toBe(200);
  const untrusting = await start({ trustedProxies: [] });
  for (let index = 0; index < 10; index += 1) await untrusting.ask(`guess-${index}`, `198.51.100.${index}`);
  expect((await untrusting.ask('summer', '198.51.100.99')).status).toBe(429);
  expect(await guess(1, '192.0.2.1')).toEqual([401]);
});

it('in a flood of guesses from many addresses, looks at keys only from addresses that it knows', async () => {
  const { clock, ask, guess } = await start();
  expect((await ask('summer', '192.0.2.1')).status).toBe(200);
  for (let host = 0; host < 20; host += 1) await guess(5, `203.0.113.${host}`);
  expect((await ask('summer', '192.0.2.2')).status).toBe(429);
  expect((await ask('summer', '192.0.2.1')).status).toBe(200);
  clock.now += MINUTE;
  expect((await ask('summer', '192.0.2.2')).status).toBe(200);
});

it('limits the requests of each caller, apart from the operator, health and the files of pages', async () => {
  const { clock, metrics, ask, operatorKey } = await start({ requestLimit: 6 });
  const statuses = [];
  for (let index = 0; index < 7; index += 1) statuses.push((await ask('summer')).status);
  expect(statuses).toEqual([...Array(6).fill(200), 429]);
  const refused = await ask('summer');
  expect(refused.headers.get('retry-after')).toBe('10');
  expect(await refused.json()).toMatchObject({
    code: 'request_limit',
    message: expect.stringContaining('REQUEST_LIMIT'),
  });
  for (const path of ['/healthz', '/assets/page.js'])
    expect((await ask(undefined, undefined, path)).status).toBe(200);
  expect((await ask('summer', '203.0.113.2')).status).toBe(200);
  for (let index = 0; index < 7; index += 1) expect((await ask(operatorKey)).status).toBe(200);
  clock.now += 10_000;
  expect((await ask('summer')).status).toBe(200);
  expect((await ask('summer')).status).toBe(429);
  expect(await metrics.render()).toContain('sample_http_limited_requests_total{reason="requests"} 3');
});

it.each([
  ['a page', 401],
  ['events', 200],
])('does not let the key of an account guess other keys: %s', async (page, wrong) => {
  const { clock, url } = await start();
  const headers = { 'x-api-key': 'tlk_guest', 'x-forwarded-for': '203.0.113.1' };
  const path = page === 'events' ? '/console/events' : '/console/page';
  const show = (key: string) =>
    fetch(url + path, { headers: { ...headers, authorization: `Bearer ${key}` } });
  for (let index = 0; index < 10; index += 1) expect((await show(`guess-${index}`)).status).toBe(wrong);
  for (const key of ['autumn', 'winter']) expect((await show(key)).status).toBe(429);
  // Their own key is no guess, and works on where it opens something.
  expect((await show('tlk_guest')).status).toBe(wrong);
  expect((await fetch(`${url}/api/who`, { headers })).status).toBe(403);
  clock.now += MINUTE;
  expect(await (await show('autumn')).text()).toBe('key');
});

it.each(['/api/who', '/console/page'])('counts wrong keys that come in one chunk: %s', async (path) => {
  const { metrics, port } = await start();
  const client = await rawClient(port);
  const keys = [...Array.from({ length: 40 }, (_, index) => `guess-${index}`), 'summer', 'autumn'];
  client.write(keys.map((key) => getRequest(path, { authorization: `Bearer ${key}` })).join(''));
  client.write(getRequest('/healthz', { connection: 'close' }));
  await client.closed;
  const statuses = [...client.received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual([...Array(10).fill('401'), ...Array(32).fill('429'), '200']);
  expect(await metrics.render()).toContain('sample_http_wrong_keys_total 10');
});
