import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { foreignAgentsOfThisFile, hello, hello10, interfaces } from '../fixtures/foreign-agents.ts';
import { targetsSchema, toTargets } from '../registry/external-agents.ts';
import { createA2aClient } from './client.ts';

/** Agents of which another address than that of the endpoint is known, or one that a proxy has changed. */
const client = createA2aClient();
const start = foreignAgentsOfThisFile();
const result10 = () => ({ result: hello10() });

describe('an agent', () => {
  it('of which the contract wants one request gets that at its endpoint, and is looked for from another address', async () => {
    const { at, calls } = await start({ card: { url: '/rpc' }, rpcPath: '/rpc', answer: hello });
    const ask = (path: string) => client.ask({ ...at(path), protocol: '0.3' }, { text: 'x' });
    expect(await ask('/rpc')).toBe('hello');
    expect(calls.splice(0)).toEqual(['/rpc message/send']);
    for (const path of ['', '/.well-known/agent-card.json']) expect(await ask(path)).toBe('hello');
    expect(calls.splice(0).filter((call) => call.startsWith('/rpc '))).toHaveLength(2);
    // Known by now to be no endpoint.
    expect(await ask('')).toBe('hello');
    expect(calls).toEqual(['/rpc message/send']);
  });

  it('that speaks 1.0 alone is looked up by its card where the contract wants one request of 0.3', async () => {
    const status = { state: 'TASK_STATE_COMPLETED' };
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'hello' }] }];
    const result = { task: { id: 't1', contextId: 'c1', status, artifacts } };
    const unknown = { error: { code: -32601, message: 'Method not found' } };
    const url = 'http://127.0.0.1:{port}/rpc';
    const card = {
      protocolVersion: undefined,
      preferredTransport: undefined,
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    };
    const rpc = {
      card,
      rpcPath: '/rpc',
      answer: (name: string) => (name === 'SendMessage' ? { result } : unknown),
    };
    const { at, calls } = await start(rpc);
    const agent = { ...at('/rpc'), protocol: '0.3' as const };
    for (let count = 0; count < 2; count += 1) expect(await client.ask(agent, { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/rpc message/send', '/rpc SendMessage', '/rpc SendMessage']);
    const hidden = await start({ ...rpc, cardPath: '/none' });
    const asked = client.ask({ ...hidden.at('/rpc'), protocol: '0.3' }, { text: 'x' });
    await expect(asked).rejects.toThrow('Method not found');
    expect(hidden.calls).toEqual(['/rpc message/send']);
  });

  it.each([
    [400, undefined, 'HTTP status 400'],
    [400, '{"error":{"code":400,"message":"no body"}}', 'no body'],
    [405, undefined, 'HTTP status 405'],
    [415, undefined, 'HTTP status 415'],
    [422, '{"detail":[]}', 'HTTP status 422'],
    [501, undefined, 'HTTP status 501'],
    [200, '<html>Welcome</html>', 'could not be understood'],
  ])(
    'whose service answers one request of 0.3 with %i %s is looked up by its card',
    async (status, body, words) => {
      const elsewhere = { status, ...(body !== undefined && { body }) };
      const rpc = { rpcPath: '/rpc', elsewhere, answer: result10 };
      const { at, calls } = await start({ ...rpc, card: interfaces(['/rpc', 'JSONRPC', '1.0']) });
      const agent = { ...at(''), protocol: '0.3' as const };
      for (let count = 0; count < 2; count += 1) expect(await client.ask(agent, { text: 'x' })).toBe('hello');
      expect(calls).toEqual(['/ message/send', '/rpc SendMessage', '/rpc SendMessage']);
      const hidden = await start({ ...rpc, cardPath: '/none' });
      const asked = client.ask({ ...hidden.at(''), protocol: '0.3' }, { text: 'x' });
      await expect(asked).rejects.toThrow(words);
      expect(hidden.calls).toEqual(['/ message/send']);
    },
  );

  it('that answers in no form that we know is not asked again: it may have done the work', async () => {
    const card = interfaces(['http://localhost:{port}/', 'JSONRPC', '1.0'], ['/rest', 'HTTP+JSON', '1.0']);
    const { at, calls } = await start({ card, answer: () => 'done' });
    await expect(client.ask({ ...at(''), protocol: '0.3' }, { text: 'x' })).rejects.toThrow('understood');
    expect(calls).toEqual(['/ message/send']);
  });

  it('that was gone for a moment gets the one request again, also where it has a card', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const patient = createA2aClient(clock);
    const { at, calls, given } = await start({ cardPath: '/none', rpcPath: '/later', answer: hello });
    const agent = { ...at(''), protocol: '0.3' as const };
    const ask = () => patient.ask(agent, { text: 'x' });
    await expect(ask()).rejects.toThrow('HTTP status 404');
    expect(calls.splice(0)).toEqual(['/ message/send']);
    given.rpcPath = '/';
    expect(await ask()).toBe('hello');
    expect(calls.splice(0)).toEqual(['/ message/send']);
    Object.assign(given, { cardPath: undefined, card: { url: '/later' }, rpcPath: '/later' });
    for (let count = 0; count < 2; count += 1) expect(await ask()).toBe('hello');
    expect(calls.splice(0)).toEqual(['/ message/send', '/later message/send', '/later message/send']);
    // Back at the old place, which is tried once the other fails, or after ten minutes.
    given.rpcPath = '/';
    await expect(ask()).rejects.toThrow('404');
    expect(await ask()).toBe('hello');
    expect(calls.splice(0)).toEqual(['/later message/send', '/ message/send']);
    given.rpcPath = '/later';
    expect(await ask()).toBe('hello');
    await clock.advanceBy(600_001);
    expect(await ask()).toBe('hello');
    expect(calls.slice(2)).toEqual(['/ message/send', '/later message/send']);
  });

  it('of which the contract wants one request gets none at the address of its card', async () => {
    const { at, calls, given } = await start({
      card: { url: '/rpc' },
      rpcPath: '/rpc',
      elsewhere: { status: 403 },
      answer: hello,
    });
    const agent = { ...at('/.well-known/agent-card.json'), protocol: '0.3' as const };
    for (let count = 0; count < 2; count += 1) expect(await client.ask(agent, { text: 'x' })).toBe('hello');
    expect(calls.splice(0)).toEqual(Array(2).fill('/rpc message/send'));
    // Its card is read afresh once the agent is no more where it was.
    Object.assign(given, { card: { url: '/later' }, rpcPath: '/later', elsewhere: { status: 404 } });
    await expect(client.ask(agent, { text: 'x' })).rejects.toThrow('404');
    expect(await client.ask(agent, { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/rpc message/send', '/later message/send']);
  });
});

describe('a redirect', () => {
  it('that only adds or takes away the slash at the end is followed, with credentials', async () => {
    const slashes = { '/a2a': '/a2a/', '/rpc/': '/rpc' };
    for (const [from, to] of Object.entries(slashes)) {
      const { at, calls } = await start({
        cardPath: '/none',
        redirects: slashes,
        rpcPath: to,
        answer: hello,
      });
      for (const more of [{}, { protocol: '0.3' as const }, { credentials: { bearer: 'sesame' } }])
        expect(await client.ask({ ...at(from), ...more }, { text: 'x' })).toBe('hello');
      expect(calls).toEqual(Array(3).fill(`${to} message/send`));
    }
  });

  it('to any other place is an error that names it', async () => {
    const other = await start({ cardPath: '/none', rpcPath: '/a2a/', answer: hello });
    const away = other.at('/a2a/').url;
    const redirects = { '/a2a': away, '/old': '/new/?key=1', '/turn': '/turn/', '/turn/': '/turn' };
    const { at, calls } = await start({ cardPath: '/none', redirects, rpcPath: '/new/', answer: hello });
    const ask = (path: string) => client.ask({ ...at(path), protocol: '0.3' }, { text: 'x' });
    await expect(ask('/a2a')).rejects.toThrow(`its address has moved to ${away}`);
    await expect(ask('/old')).rejects.toThrow(/its address has moved to \S+\/new\/$/);
    await expect(ask('/turn')).rejects.toThrow(/its address has moved to \S+\/turn$/);
    expect([...calls, ...other.calls]).toEqual([]);
  });
});

describe('a card', () => {
  it.each(['/agents/one/card', '/v1/card', '/card?id=5', '/?card'])(
    'at %s is read at that address, whether one request of 0.3 goes before or not',
    async (path) => {
      for (const elsewhere of [{ status: 405 }, { status: 200, body: '{"name":"Foreign","url":"/rpc"}' }]) {
        const agent = { cardPath: path, rpcPath: '/rpc', elsewhere, answer: hello };
        const { at, calls } = await start({ ...agent, card: { url: '/rpc' } });
        expect(await client.ask(at(path), { text: 'x' })).toBe('hello');
        expect(calls.splice(0)).toEqual(['/rpc message/send']);
        expect(await client.ask({ ...at(path), protocol: '0.3' }, { text: 'x' })).toBe('hello');
        expect(calls.splice(0)).toEqual([`${path} message/send`, '/rpc message/send']);
      }
      const behind = { url: 'http://agents.invalid/rpc' };
      const proxied = await start({ card: behind, cardPath: path, rpcPath: '/rpc', answer: hello });
      expect(await client.ask(proxied.at(path), { text: 'x' })).toBe('hello');
      expect(proxied.calls).toEqual(['/rpc message/send']);
    },
  );

  it.each([{ status: 401 }, { status: 403 }, { status: 302, location: '/login' }])(
    'is read at its address, and need not be, on a host that answers %j where there is nothing',
    async (unknown) => {
      const host = { unknown, elsewhere: { status: 405 }, answer: hello };
      const path = '/agents/one/card';
      const card = await start({ ...host, card: { url: '/rpc' }, cardPath: path, rpcPath: '/rpc' });
      const none = await start({ ...host, cardPath: '/none', rpcPath: '/agents/b' });
      const secret = { credentials: { bearer: 'sesame' } };
      for (const more of [{}, secret, { protocol: '0.3' as const }]) {
        expect(await client.ask({ ...card.at(path), ...more }, { text: 'x' })).toBe('hello');
        expect(await client.ask({ ...none.at('/agents/b'), ...more }, { text: 'x' })).toBe('hello');
      }
      expect(card.calls.filter((call) => call !== `${path} message/send`)).toHaveLength(3);
      expect(none.calls).toEqual(Array(3).fill('/agents/b message/send'));
      // Nobody knows what such a card says, or who signed it.
      await expect(client.card(none.at('/agents/b'))).rejects.toThrow(/credentials|moved to/);
      const checked = { ...none.at('/agents/b'), trust: { keys: [] } };
      await expect(client.ask(checked, { text: 'x' })).rejects.toThrow(/credentials|moved to/);
      expect(none.calls).toHaveLength(3);
    },
  );

  it('is not taken to be missing where the server fails', async () => {
    const unknown = { status: 503 };
    const { at, calls } = await start({ unknown, cardPath: '/none', rpcPath: '/agents/b', answer: hello });
    await expect(client.ask(at('/agents/b'), { text: 'x' })).rejects.toThrow('HTTP status 503');
    expect(calls).toEqual([]);
    const path = '/agents/one/card';
    const card = { unknown, card: { url: '/rpc' }, cardPath: path, rpcPath: '/rpc', answer: hello };
    expect(await client.ask((await start(card)).at(path), { text: 'x' })).toBe('hello');
  });

  it('counts at an endpoint itself, and nothing else that an endpoint shows to GET', async () => {
    const card = interfaces(['/agents/b', 'JSONRPC', '1.0']);
    const named = await start({ card, cardPath: '/agents/b', rpcPath: '/agents/b', answer: result10 });
    expect(await client.ask(named.at('/agents/b'), { text: 'x' })).toBe('hello');
    const other = await start({ cardPath: '/agents/b', rpcPath: '/agents/b', answer: hello });
    expect(await client.ask(other.at('/agents/b'), { text: 'x' })).toBe('hello');
    expect([...named.calls, ...other.calls]).toEqual(['/agents/b SendMessage', '/agents/b message/send']);
  });

  it('that names another host which is not believed is said to be the reason where nobody is at the configured one', async () => {
    const { at, calls } = await start({
      card: { url: 'http://192.0.2.1/rpc' },
      rpcPath: '/x',
      answer: hello,
    });
    for (const more of [{}, { protocol: '0.3' as const }])
      await expect(client.ask({ ...at(''), ...more }, { text: 'x' })).rejects.toMatchObject({
        code: 'agent_elsewhere',
        message: expect.stringMatching(/192\.0\.2\.1.* cardHosts /),
      });
    expect(calls).toEqual(['/rpc message/send', '/ message/send', '/rpc message/send']);
  });

  it('leads to the hosts, and has the keys, that the entry of a2a.yaml names', async () => {
    const there = await start({ rpcPath: '/rpc', answer: hello });
    const { host } = new URL(there.at('').url);
    const here = await start({ card: { url: `http://${host}/rpc` }, rpcPath: '/x', answer: hello });
    const entry = { url: here.at('').url, bearer_token: 'sesame' };
    const cardKeys = [{ kty: 'OKP', crv: 'Ed25519', x: 'AA' }];
    const file = { allowed: { ...entry, cardHosts: [host] }, bare: entry, signed: { ...entry, cardKeys } };
    const targets = toTargets(targetsSchema.parse({ targets: file }));
    const ask = async (name: string) => client.ask(targets.get(name) ?? here.at(''), { text: 'x' });
    expect(await ask('allowed')).toBe('hello');
    expect([...there.calls, ...here.calls]).toEqual(['/rpc message/send']);
    await expect(ask('bare')).rejects.toThrow();
    await expect(ask('signed')).rejects.toMatchObject({ code: 'agent_unverified' });
    expect(there.calls).toHaveLength(1);
  });

  it('beside the path of an endpoint is read, and believed as one at the root is', async () => {
    const cardPath = '/agents/b/.well-known/agent-card.json';
    const named = await start({
      cardPath,
      card: interfaces(['/agents/b/rest', 'HTTP+JSON', '1.0'], ['/agents/b/rpc', 'JSONRPC', '0.3']),
      rpcPath: '/agents/b/rest/message:send',
      answer: hello10,
    });
    expect(await client.ask(named.at('/agents/b/rpc'), { text: 'x' })).toBe('hello');
    const unaware = await start({
      cardPath,
      card: interfaces(['http://0.0.0.0:80/rpc', 'JSONRPC', '1.0']),
      rpcPath: '/agents/b/rpc',
      answer: result10,
    });
    expect(await client.ask(unaware.at('/agents/b/rpc'), { text: 'x' })).toBe('hello');
    expect(unaware.calls).toEqual(['/agents/b/rpc SendMessage']);
  });

  it('at the root that names the endpoint counts, whatever stands beside the endpoint', async () => {
    const { at, calls } = await start({
      card: interfaces(['/agents/b/rpc', 'JSONRPC', '1.0']),
      lockedPath: '/agents/b/.well-known/agent-card.json',
      rpcPath: '/agents/b/rpc',
      answer: result10,
    });
    for (const more of [{}, { credentials: { bearer: 'sesame' } }])
      expect(await client.ask({ ...at('/agents/b/rpc'), ...more }, { text: 'x' })).toBe('hello');
    expect(calls).toEqual(Array(2).fill('/agents/b/rpc SendMessage'));
  });

  it('with a public address whose path a proxy takes away leads to the rest of the path, which is remembered', async () => {
    const { at, calls } = await start({
      card: { url: 'http://agents.invalid/team/b/rpc', capabilities: { streaming: true } },
      rpcPath: '/rpc',
      answer: hello,
    });
    for (let count = 0; count < 2; count += 1) expect(await client.ask(at(''), { text: 'x' })).toBe('hello');
    expect(calls.splice(0)).toEqual([
      '/team/b/rpc message/send',
      '/b/rpc message/send',
      '/rpc message/send',
      '/rpc message/send',
    ]);
    for await (const event of client.stream(at(''), { text: 'x' })) void event;
    expect(calls.splice(0)).toEqual(['/rpc message/stream']);
    const below = await start({
      card: { url: 'http://agents.invalid/rpc' },
      cardPath: '/team/b/.well-known/agent-card.json',
      rpcPath: '/team/b/rpc',
      answer: hello,
    });
    expect(await client.ask(below.at('/team/b/'), { text: 'x' })).toBe('hello');
    const gone = await start({
      card: { url: 'http://agents.invalid/team/rpc' },
      rpcPath: '/x',
      answer: hello,
    });
    await expect(client.ask(gone.at(''), { text: 'x' })).rejects.toThrow('404');
    expect(gone.calls).toEqual(['/team/rpc message/send', '/rpc message/send']);
  });

  it.each(['', '/', '/a2a', '/.well-known/agent-card.json'])(
    'of our own service does not lead away from the host that was given: %s',
    async (path) => {
      for (const host of ['https://192.0.2.1', 'http://agents.invalid', 'http://127.0.0.1:1']) {
        const card = { url: `${host}/research/a2a` };
        const { at, calls } = await start({ card, rpcPath: '/a2a', answer: hello });
        expect(await client.ask({ ...at(path), ownService: true }, { text: 'x' })).toBe('hello');
        expect(calls).toEqual(['/a2a message/send']);
      }
    },
  );
});
