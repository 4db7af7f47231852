import { encodePrincipal, type OperatorAccess, principalHeader } from '@trunkline/identity';
import { describe, expect, it } from 'vitest';
import { defineErrors } from '../errors/http-error.ts';
import { getRequest, rawClient, startApp, type TestCaller } from '../fixtures/test-kit.ts';
import {
  allowCallers,
  type CallerGuardOptions,
  callerGuard,
  createIdentify,
  createKeyring,
} from './caller-guard.ts';
import type { HeaderReader } from './credentials.ts';

const roster = createKeyring<TestCaller>([
  { key: 'ann-key', caller: { id: 'ann', role: 'admin' } },
  { key: 'bob-key', caller: { id: 'bob', role: 'user' } },
]);

async function start(options: Partial<CallerGuardOptions<TestCaller>> = {}) {
  return startApp((app) => {
    app.use('/api/*', callerGuard({ keyring: roster, ...options }));
    app.get('/api/whoami', (c) => c.text(c.get('caller').id));
    app.get('/api/events', (c) => c.text('public'));
    app.get('/', (c) => c.text('page'));
  });
}

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

describe('callerGuard', () => {
  it.each([
    ['X-API-Key', { 'x-api-key': 'ann-key' }, 'ann'],
    ['a bearer', { authorization: 'Bearer bob-key' }, 'bob'],
    ['a bearer in any case', { authorization: 'bEARER  bob-key ' }, 'bob'],
    ['X-API-Key before a bearer', { 'x-api-key': 'ann-key', authorization: 'Bearer bob-key' }, 'ann'],
    ['a bearer beside a blank X-API-Key', { 'x-api-key': ' ', authorization: 'Bearer bob-key' }, 'bob'],
  ])('knows the caller by %s', async (_name, headers, id) => {
    const server = await start();
    expect(await get(`${server.url}/api/whoami`, headers)).toMatchObject({ status: 200, text: id });
  });

  it.each([
    ['no key', {}],
    ['an unknown key', { 'x-api-key': 'eve-key' }],
    ['a key with more at its end', { 'x-api-key': 'ann-key2' }],
    ['the beginning of a key', { 'x-api-key': 'ann-ke' }],
    ['a key in the wrong case', { 'x-api-key': 'ANN-KEY' }],
    ['another scheme', { authorization: 'Basic ann-key' }],
    ['a bearer with nothing after it', { authorization: 'Bearer ' }],
    ['a wrong X-API-Key beside a right bearer', { 'x-api-key': 'eve', authorization: 'Bearer ann-key' }],
    ['two keys in one header', { 'x-api-key': 'ann-key, bob-key' }],
  ])('refuses %s', async (_name, headers) => {
    const server = await start();
    const answer = await get(`${server.url}/api/whoami`, headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('ApiKey header="X-API-Key", Bearer');
  });

  it('takes only the places it is given', async () => {
    const server = await start({ credentials: ['bearer'] });
    expect((await get(`${server.url}/api/whoami`, { 'x-api-key': 'ann-key' })).status).toBe(401);
    const answer = await get(`${server.url}/api/whoami`, {
      'x-api-key': 'nonsense',
      authorization: 'Bearer ann-key',
    });
    expect(answer.text).toBe('ann');
  });

  it('leaves exceptions and paths outside its prefix open', async () => {
    const server = await start({ except: ['/api/events'] });
    expect(await get(`${server.url}/api/events`)).toMatchObject({ status: 200, text: 'public' });
    expect((await get(`${server.url}/`)).status).toBe(200);
  });

  it.each([
    '/api/events/',
    '/api/./events/../whoami',
    '/api/%65vents/../whoami',
    '/api/whoami?x=/api/events',
  ])('is not led round by %s', async (path) => {
    const server = await start({ except: ['/api/events'] });
    expect((await get(server.url + path)).status).toBe(401);
  });

  it('refuses everyone while no key is set, unless the service names an open caller', async () => {
    const keyring = createKeyring<TestCaller>([
      { key: '  ', caller: { id: 'blank' } },
      { key: undefined, caller: { id: 'unset' } },
    ]);
    const closed = await start({ keyring });
    expect((await get(`${closed.url}/api/whoami`, { 'x-api-key': ' ' })).status).toBe(401);
    const open = await start({ keyring, openCaller: () => ({ id: 'default' }) });
    expect((await get(`${open.url}/api/whoami`)).text).toBe('default');
    const undecided = await start({ keyring, openCaller: () => undefined });
    expect((await get(`${undecided.url}/api/whoami`)).status).toBe(401);
  });

  it('while no key is set, answers by a name of the internet on no path, exceptions included', async () => {
    const keyring = createKeyring<TestCaller>([]);
    const server = await start({ keyring, except: ['/api/events'], openCaller: () => ({ id: 'default' }) });
    for (const path of ['/api/whoami', '/api/events']) {
      const client = await rawClient(server.port);
      client.write(getRequest(path, { host: 'rebound.example', connection: 'close' }));
      await client.closed;
      expect(client.received).toContain('"foreign_name"');
      expect((await get(server.url + path)).status).toBe(200);
    }
  });

  it('asks for the keys anew, so that a reload counts at once', async () => {
    let keyring = createKeyring<TestCaller>([]);
    const server = await start({ keyring: () => keyring, openCaller: () => ({ id: 'default' }) });
    expect((await get(`${server.url}/api/whoami`)).text).toBe('default');
    keyring = roster;
    expect((await get(`${server.url}/api/whoami`)).status).toBe(401);
    expect((await get(`${server.url}/api/whoami`, { 'x-api-key': 'bob-key' })).text).toBe('bob');
  });

  it('refuses in the words of the service', async () => {
    const errors = defineErrors({ key_unknown: [401, 'unknown or missing api key'] });
    const server = await start({ refuse: errors.key_unknown });
    const answer = await get(`${server.url}/api/whoami`);
    expect(JSON.parse(answer.text)).toEqual({ code: 'key_unknown', message: 'unknown or missing api key' });
    expect(answer.headers.get('www-authenticate')).not.toBeNull();
  });
});

describe('independent guards on one path, as the agent contract asks', () => {
  async function agent(token: string, apiKey: string) {
    const open = () => ({ id: 'open' });
    const bearer = callerGuard<TestCaller>({
      keyring: createKeyring([{ key: token, caller: { id: 'bearer' } }]),
      credentials: ['bearer'],
      except: ['/api/events'],
      openCaller: open,
    });
    const key = callerGuard<TestCaller>({
      keyring: createKeyring([{ key: apiKey, caller: { id: 'key' } }]),
      credentials: ['x-api-key'],
      openCaller: open,
    });
    const server = await startApp((app) => {
      for (const path of ['/a2a/*', '/api/*', '/v1/*']) app.use(path, bearer);
      for (const path of ['/a2a/*', '/v1/*']) app.use(path, key);
      for (const path of ['/a2a', '/a2a/tasks/:id', '/api/chat', '/v1/models', '/api/events'])
        app.get(path, (c) => c.text('in'));
    });
    return async (path: string, headers: Record<string, string> = {}) =>
      (await get(server.url + path, headers)).status;
  }
  const bearer = { authorization: 'Bearer tok' };
  const key = { 'x-api-key': 'key' };

  it.each([
    [
      'both set',
      'tok',
      'key',
      {
        '/a2a': [401, 401, 401, 200],
        '/a2a/tasks/1': [401, 401, 401, 200],
        '/v1/models': [401, 401, 401, 200],
        '/api/chat': [401, 200, 401, 200],
      },
    ],
    [
      'the token alone',
      'tok',
      '',
      { '/a2a': [401, 200, 401, 200], '/v1/models': [401, 200, 401, 200], '/api/chat': [401, 200, 401, 200] },
    ],
    [
      'the key alone',
      ' ',
      'key',
      { '/a2a': [401, 401, 200, 200], '/v1/models': [401, 401, 200, 200], '/api/chat': [200, 200, 200, 200] },
    ],
    [
      'neither',
      '',
      '',
      { '/a2a': [200, 200, 200, 200], '/v1/models': [200, 200, 200, 200], '/api/chat': [200, 200, 200, 200] },
    ],
  ])('%s', async (_name, token, apiKey, table) => {
    const ask = await agent(token, apiKey);
    for (const [path, expected] of Object.entries(table)) {
      const statuses = [
        await ask(path),
        await ask(path, bearer),
        await ask(path, key),
        await ask(path, { ...bearer, ...key }),
      ];
      expect(statuses, path).toEqual(expected);
    }
    expect(await ask('/api/events')).toBe(200);
  });
});

describe('allowCallers', () => {
  it('answers 403 to a caller without the role', async () => {
    const errors = defineErrors({ admin_required: [403, 'admin role required'] });
    const server = await startApp((app) => {
      app.use('/api/*', callerGuard({ keyring: roster }));
      app.post(
        '/api/admin',
        allowCallers<TestCaller>(({ role }) => role === 'admin', errors.admin_required),
        (c) => c.text('done'),
      );
    });
    const ask = (key: string) =>
      fetch(`${server.url}/api/admin`, { method: 'POST', headers: { 'x-api-key': key } });
    expect((await ask('ann-key')).status).toBe(200);
    const refused = await ask('bob-key');
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { code: 'admin_required', message: 'admin role required' },
    ]);
  });
});

describe('a principal that a service hands on', () => {
  const operator = { isKey: () => false, isSession: () => false } as unknown as OperatorAccess;
  const identify = createIdentify({ operator, serviceToken: 'service' });
  const asking = (principal?: string) =>
    identify({
      header: (name: string) =>
        ({ authorization: 'Bearer service', [principalHeader]: principal })[name.toLowerCase()],
    } as HeaderReader);
  const unknown = [{ kind: 'message', source: 'unknown' }];

  it.each([
    ['cannot be read', 'nonsense'],
    ['is too long', 'x'.repeat(5000)],
    ['names nobody who handed it on', encodePrincipal({ kind: 'operator', id: 'operator', via: [] })],
  ])('and that %s is nobody with words of unknown origin', (_, header) => {
    expect(asking(header)).toMatchObject({ kind: 'anonymous', origins: unknown });
  });

  it('is nobody without a header', () => {
    expect(asking()).toEqual({ kind: 'anonymous', id: 'anonymous', via: ['a service'] });
  });

  it('keeps its origins where the key decides who it is', async () => {
    const server = await startApp((app) => {
      app.use('/api/*', async (c, next) => {
        c.set('principal', { kind: 'anonymous', id: 'anonymous', via: ['a service'], origins: unknown });
        return next();
      });
      app.use('/api/*', callerGuard({ keyring: roster }));
      app.get('/api/principal', (c) => c.json(c.get('principal')));
    });
    const { text } = await get(`${server.url}/api/principal`, { 'x-api-key': 'ann-key' });
    expect(JSON.parse(text)).toEqual({ kind: 'agent', id: 'key', via: [], origins: unknown });
  });
});

describe('createKeyring', () => {
  it('finds each caller by key and nobody by anything else', () => {
    const keyring = createKeyring([
      { key: 'one', caller: 1 },
      { key: ' two ', caller: 2 },
    ]);
    expect(['one', 'two', 'three', ''].map((key) => keyring.find(key))).toEqual([1, 2, undefined, undefined]);
  });

  it('leaves blank keys out, so that a blank presented key never matches', () => {
    const keyring = createKeyring([
      { key: '', caller: 1 },
      { key: '   ', caller: 2 },
      { key: undefined, caller: 3 },
    ]);
    expect(keyring.size).toBe(0);
    expect(keyring.find('')).toBeUndefined();
  });

  it('gives a shared key to the first', () => {
    const keyring = createKeyring([
      { key: 'same', caller: 'first' },
      { key: 'same', caller: 'second' },
    ]);
    expect(keyring.find('same')).toBe('first');
  });
});
