import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  FakeClock,
  type FakePeer,
  type FakePeerOptions,
  freePort,
  startFakePeer,
  waitFor,
} from '@trunkline/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { isSigned, signBody } from './agent-fetch.ts';
import { createA2aClient } from './client.ts';
import { type RemoteAgent, RemoteAgentError } from './remote-agent.ts';

describe('client', () => {
  const client = createA2aClient();
  const peers: FakePeer[] = [];

  afterEach(async () => {
    for (const peer of peers.splice(0)) await peer.stop();
  });

  async function start(options: FakePeerOptions = {}, more: Partial<RemoteAgent> = {}) {
    const peer = await startFakePeer(options);
    peers.push(peer);
    const agent: RemoteAgent = { name: 'Scout', url: peer.url, protocol: '0.3', ...more };
    return { peer, agent };
  }

  async function failure(work: Promise<unknown>): Promise<RemoteAgentError> {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error instanceof RemoteAgentError) return error;
    throw new Error('The call did not fail as calls to agents do.', { cause: error });
  }

  const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

  describe('the plain wire', () => {
    it('asks with one request in the form of the contract [V124]', async () => {
      const { peer, agent } = await start();
      expect(await client.ask(agent, { text: 'where is it?' })).toBe('Hello from the peer');
      expect(peer.requests).toHaveLength(1);
      expect(peer.requests[0]).toMatchObject({
        line: 'POST /a2a',
        headers: { 'content-type': 'application/json' },
      });
      expect(peer.requests[0]?.body).toEqual({
        jsonrpc: '2.0',
        id: uuid,
        method: 'message/send',
        params: {
          contextId: uuid,
          message: {
            kind: 'message',
            messageId: uuid,
            contextId: uuid,
            role: 'user',
            parts: [{ kind: 'text', text: 'where is it?' }],
          },
        },
      });
    });

    it('carries the context, the task, the id and the metadata it is given [A014]', async () => {
      const { peer, agent } = await start();
      const message = { text: 'x', contextId: 'c', taskId: 't', messageId: 'm', metadata: { skill: 'look' } };
      const reply = await client.send(agent, message);
      expect(reply).toMatchObject({ taskId: 'peer-task', contextId: 'c', state: 'completed' });
      expect(peer.requests[0]?.body.params).toMatchObject({
        contextId: 'c',
        metadata: { skill: 'look' },
        message: { messageId: 'm', taskId: 't', contextId: 'c', metadata: { skill: 'look' } },
      });
    });

    it.each<[string, unknown, string]>([
      [
        'a message',
        { kind: 'message', messageId: 'm', role: 'agent', parts: [{ kind: 'text', text: 'hi' }] },
        'hi',
      ],
      [
        'a message of 1.0',
        { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } },
        'hi',
      ],
      [
        'a task of 1.0',
        {
          task: {
            id: 't',
            contextId: 'c',
            status: { state: 'TASK_STATE_COMPLETED' },
            artifacts: [{ artifactId: 'a', parts: [{ data: { n: 1 } }, { text: 'one' }, { text: 'two' }] }],
          },
        },
        'one',
      ],
    ])('reads %s as the answer', async (_what, result, text) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
      const { agent } = await start({ answer: () => ({ status: 200, body }) });
      expect(await client.ask(agent, { text: 'x' })).toBe(text);
    });
  });

  describe('credentials', () => {
    it('sends the key, the bearer and the extra headers that are set [S100] [S101] [V031] [V033]', async () => {
      const { peer, agent } = await start(
        {},
        { credentials: { apiKey: 'key', bearer: 'token' }, headers: { 'x-team': 'dev' } },
      );
      await client.send(agent, { text: 'x' });
      expect(peer.requests[0]?.headers).toMatchObject({
        'x-api-key': 'key',
        authorization: 'Bearer token',
        'x-team': 'dev',
      });
    });

    it.each(['0.3', 'discover'] as const)(
      'signs what it sends, protocol %s [S028] [S100]',
      async (protocol) => {
        const { peer, agent } = await start({}, { credentials: { hmacSecret: 'shared' }, protocol });
        await client.send(agent, { text: 'x' });
        const { headers, text } = peer.requests.at(-1)!;
        const given = {
          timestamp: String(headers['x-timestamp']),
          signature: String(headers['x-signature-256']),
        };
        expect(isSigned('shared', text, given, Date.now())).toBe(true);
      },
    );

    it('takes them nowhere else when the agent points elsewhere', async () => {
      const { peer: other } = await start();
      const answer = () => ({ status: 307, headers: { location: other.url } });
      const { agent } = await start({ answer }, { credentials: { bearer: 'token' } });
      expect(await failure(client.send(agent, { text: 'x' }))).toMatchObject({
        code: 'agent_error',
        message: `The agent Scout answered with an error: its address has moved to ${other.url}`,
      });
      expect(other.requests).toHaveLength(0);
    });

    it.each([302, 404, 200])('shows them where a stranger who asks for the card gets %i', async (status) => {
      const asked: string[] = [];
      const server = createServer(({ method, headers }, response) => {
        const isKnown = headers.authorization === 'Bearer token' && headers['x-team'] === 'dev';
        asked.push(`${method} ${isKnown}`);
        if (!isKnown) return void response.writeHead(status, { location: '/login' }).end('<p>Log in</p>');
        const card = { name: 'Shy', url: '/a2a', protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' };
        const message = {
          kind: 'message',
          messageId: 'm',
          role: 'agent',
          parts: [{ kind: 'text', text: 'hi' }],
        };
        const answer = method === 'GET' ? card : { jsonrpc: '2.0', id: 1, result: message };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
      const port = await freePort();
      await once(server.listen(port, '127.0.0.1'), 'listening');
      onTestFinished(() => void server.close());
      const agent: RemoteAgent = {
        name: 'Scout',
        url: `http://127.0.0.1:${port}`,
        protocol: 'discover',
        credentials: { bearer: 'token' },
        headers: { 'x-team': 'dev' },
      };
      expect((await client.card(agent)).name).toBe('Shy');
      expect(asked).toEqual(['GET false', 'GET true']);
    });

    it('stays on the host it was given when the card names another', async () => {
      const { peer: other } = await start();
      const { peer, agent } = await start(
        {
          card: () => ({
            name: 'Sly',
            url: other.url,
            protocolVersion: '0.3.0',
            preferredTransport: 'JSONRPC',
          }),
        },
        { protocol: 'discover', credentials: { apiKey: 'key' } },
      );
      expect(await client.ask(agent, { text: 'x' })).toBe('Hello from the peer');
      expect(other.requests).toHaveLength(0);
      expect(peer.requests.map(({ line }) => line)).toEqual([
        'GET /.well-known/agent-card.json',
        'POST /a2a',
      ]);
    });
  });

  describe('failures, in words that can be spoken', () => {
    it.each<[string, FakePeerOptions['answer'], string, string]>([
      [
        '401',
        () => ({ status: 401 }),
        'agent_unauthorized',
        'The agent Scout did not accept our credentials.',
      ],
      [
        '403',
        () => ({ status: 403, body: 'secret' }),
        'agent_unauthorized',
        'The agent Scout did not accept our credentials.',
      ],
      [
        '500',
        () => ({ status: 500 }),
        'agent_error',
        'The agent Scout answered with an error: HTTP status 500',
      ],
      [
        'a JSON-RPC error',
        () => ({ error: { code: -32603, message: 'out of\n\n memory' } }),
        'agent_error',
        'The agent Scout answered with an error: out of memory',
      ],
      [
        'nonsense',
        () => ({ status: 200, body: '<html>' }),
        'agent_unreadable',
        'The agent Scout answered in a way that could not be understood.',
      ],
      [
        'no result',
        () => ({ status: 200, body: '{}' }),
        'agent_unreadable',
        'The agent Scout answered in a way that could not be understood.',
      ],
      [
        'a failed task',
        () => ({ failure: 'no fuel' }),
        'agent_failed',
        'The agent Scout could not do it: no fuel',
      ],
      [
        'a question',
        () => ({ question: 'which one?' }),
        'agent_failed',
        'The agent Scout could not do it: it asks back: which one?',
      ],
      [
        'no artifact',
        () => ({ silence: true }),
        'agent_no_answer',
        'The agent Scout finished without an answer.',
      ],
    ])('tells of %s', async (_what, answer, code, message) => {
      const { agent } = await start(answer === undefined ? {} : { answer });
      expect(await failure(client.ask(agent, { text: 'x' }))).toMatchObject({
        code,
        message,
        agent: 'Scout',
      });
    });

    it('tells when nobody is there', async () => {
      const url = `http://127.0.0.1:${await freePort()}/a2a`;
      for (const protocol of ['0.3', 'discover'] as const) {
        const agent: RemoteAgent = { name: 'Scout', url, protocol };
        expect(await failure(client.send(agent, { text: 'x' }))).toMatchObject({
          code: 'agent_unreachable',
          message: 'The agent Scout could not be reached (connection refused).',
        });
      }
    });

    it.each(['0.3', 'discover'] as const)('waits no longer than it may, protocol %s', async (protocol) => {
      const { peer, agent } = await start({ answer: () => ({ hang: true }) }, { protocol });
      const clock = new FakeClock('2026-03-01T12:00:00Z');
      const call = failure(createA2aClient(clock).send(agent, { text: 'x' }));
      await waitFor(() => peer.requests.some(({ line }) => line === 'POST /a2a'));
      await clock.advanceBy(60_000);
      expect(await call).toMatchObject({
        code: 'agent_timeout',
        message: 'The agent Scout did not answer in time.',
      });
      expect(clock.pendingTimers).toBe(0);
    });

    it('leaves the abort of its caller as it is', async () => {
      const { peer, agent } = await start({ answer: () => ({ hang: true }) });
      const controller = new AbortController();
      const call = client.send(agent, { text: 'x' }, { signal: controller.signal });
      const reason = new Error('the caller hung up');
      await waitFor(() => peer.requests.length === 1);
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
    });

    it('does not take an endless answer', async () => {
      const body = `{"result":"${'x'.repeat(21 * 1024 * 1024)}"}`;
      const { agent } = await start({ answer: () => ({ status: 200, body }) });
      expect(['agent_unreadable', 'agent_unreachable']).toContain(
        (await failure(client.send(agent, { text: 'x' }))).code,
      );
    });
  });
});

const now = Date.parse('2026-03-01T12:00:00Z');

function received(headers: ReturnType<typeof signBody>) {
  return { timestamp: headers['x-timestamp'], signature: headers['x-signature-256'] };
}

describe('signed bodies', () => {
  it('signs the time and the body with the shared secret [S100]', () => {
    const headers = signBody('secret', '{"a":1}', now + 999);
    const timestamp = String(now / 1000);
    const expected = createHmac('sha256', 'secret').update(`${timestamp}.{"a":1}`).digest('hex');
    expect(headers).toEqual({ 'x-timestamp': timestamp, 'x-signature-256': `sha256=${expected}` });
    expect(isSigned('secret', '{"a":1}', received(headers), now)).toBe(true);
  });

  it('does not take another body, secret, time or signature', () => {
    const given = received(signBody('secret', 'body', now));
    expect(isSigned('secret', 'bodY', given, now)).toBe(false);
    expect(isSigned('other', 'body', given, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: String(now / 1000 + 1) }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: 'yesterday' }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, signature: given.signature.slice(7) }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, signature: undefined }, now)).toBe(false);
    expect(isSigned('secret', 'body', { ...given, timestamp: undefined }, now)).toBe(false);
  });

  it('lets the clocks differ by 300 seconds and no more', () => {
    const given = received(signBody('secret', 'body', now));
    expect(isSigned('secret', 'body', given, now + 300_000)).toBe(true);
    expect(isSigned('secret', 'body', given, now - 300_000)).toBe(true);
    expect(isSigned('secret', 'body', given, now + 301_000)).toBe(false);
    expect(isSigned('secret', 'body', given, now - 301_000)).toBe(false);
  });
});
