import type { RunningTool } from '@trunkline/llm';
import { freePort } from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { type PageServer, send, startPages } from '../page-server.suite.ts';
import { createA2aDelegate } from './a2a-delegate.ts';
import { createDelegateTo } from './delegate-to.ts';

let server: PageServer | undefined;
afterEach(async () => await server?.stop());

interface Call {
  params: { message: Record<string, unknown>; metadata?: unknown };
  method: string;
}

/** An agent that gives the scripted answers to `message/send` at `/a2a`, the last of them again and again. */
async function agent(...answers: { status?: number; body: unknown }[]) {
  const calls: Call[] = [];
  const keys: (string | undefined)[] = [];
  server = await startPages({
    '/film.mp4': send('video/mp4', 'frames'),
    '/away.mp4': (response) => response.writeHead(302, { location: 'http://127.0.0.1:4040/film.mp4' }).end(),
    '/a2a': (response, request) => {
      let body = '';
      keys.push(request.headers.authorization);
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        calls.push(JSON.parse(body));
        const { status = 200, body: answer } = answers.length > 1 ? answers.shift()! : answers[0]!;
        send(
          'application/json',
          typeof answer === 'string' ? answer : JSON.stringify(answer),
          status,
        )(response);
      });
    },
  });
  return { url: `${server.url}/a2a`, base: server.url, calls, keys };
}

const text = (words: string) => ({ parts: [{ kind: 'text', text: words }] });
const task = (state: string, more: object = {}) => ({
  body: {
    jsonrpc: '2.0',
    id: 1,
    result: { kind: 'task', id: 't1', contextId: 'c1', status: { state }, ...more },
  },
});
const context = { signal: new AbortController().signal, sessionId: 's' };
const options = { name: 'scout', description: 'looks around' };

describe('a delegate that speaks A2A', () => {
  it('gets the key of a call as the id of the message, so that it can know it again', async () => {
    const { base: url, calls } = await agent(task('completed', { artifacts: [text('Yes.')] }));
    const delegate = createA2aDelegate({ ...options, url, isBase: true });
    await delegate.ask('x', { ...context, idempotencyKey: 'key-1' });
    const { message, metadata } = calls[0]?.params ?? {};
    expect(message).toMatchObject({ messageId: 'key-1' });
    expect({ ...(message?.metadata as object), ...(metadata as object) }).toMatchObject({
      idempotencyKey: 'key-1',
    });
    // Whether others do so is not known; our own services do.
    expect(delegate.idempotent).toBe(false);
    const peer = { token: 't', name: 'agent', to: 'research' };
    expect(createA2aDelegate({ ...options, url, peer }).idempotent).toBe(true);
  });

  it('is asked where its card says, and its pieces are one text', async () => {
    const card = { name: 'Scout', description: 'Looks.', protocolVersion: '0.3.0', url: '/rpc', skills: [] };
    const pieces = { parts: [...text('Peer says: ').parts, ...text('hello').parts] };
    server = await startPages({
      '/.well-known/agent-card.json': send('application/json', JSON.stringify(card)),
      '/rpc': send('application/json', JSON.stringify(task('completed', { artifacts: [pieces] }).body)),
    });
    expect(await createA2aDelegate({ ...options, url: server.url }).ask('x', context)).toBe(
      'Peer says: hello',
    );
  });

  it.each([
    ['no card', undefined, '/rpc', ['POST /rpc']],
    ['a card that cannot be read', 500, '/rpc', ['POST /rpc']],
    ['a bare card', 200, '/rpc', ['POST /rpc']],
    ['a bare card', 200, '', ['POST /', 'POST /rpc']],
  ])('with %s (%s) is asked at its address as it stands: "%s"', async (_what, status, path, asked) => {
    const answer = task('completed', { artifacts: [text('hello')] }).body;
    const card = JSON.stringify({ name: 'Scout', url: '/rpc' });
    server = await startPages({
      ...(status && { '/.well-known/agent-card.json': send('application/json', card, status) }),
      '/rpc': send('application/json', JSON.stringify(answer)),
    });
    expect(await createA2aDelegate({ ...options, url: server.url + path }).ask('x', context)).toBe('hello');
    expect(server.requests.filter((request) => request.startsWith('POST'))).toEqual(asked);
  });

  it('sends the query with its token and skill and gives the artifact [A093]', async () => {
    const { url, calls, keys } = await agent(task('completed', { artifacts: [text('found'), text('it')] }));
    const scout = createA2aDelegate({ ...options, url, token: 'tok', skill: 'look' });
    expect(await scout.ask('where?', context)).toBe('found\nit');
    expect(calls[0]).toMatchObject({
      jsonrpc: '2.0',
      method: 'message/send',
      params: {
        message: { role: 'user', parts: [{ kind: 'text', text: 'where?' }], metadata: { skill: 'look' } },
      },
    });
    expect(keys).toEqual(['Bearer tok']);
  });

  it('answers a question with the next query of the same conversation alone', async () => {
    const { url, calls } = await agent(
      task('input-required', { status: { state: 'input-required', message: text('which town?') } }),
      task('completed', { artifacts: [text('other')] }),
      task('completed', { artifacts: [text('sunny')] }),
    );
    const scout = createA2aDelegate({ ...options, url });
    expect(await scout.ask('weather', context)).toBe('scout asks back: which town?');
    await scout.ask('weather', { ...context, sessionId: 'someone else' });
    // A crash forgets what the next query answers, so a call that does must not be repeated unasked.
    const { isOnce } = createDelegateTo({ delegates: [scout] }) as RunningTool;
    const asks = { target: 'scout', query: 'Bern' };
    expect(['s', 'someone else'].map((id) => isOnce?.(asks, id))).toEqual([true, false]);
    expect(await scout.ask('Bern', context)).toBe('sunny');
    expect(isOnce?.(asks, 's')).toBe(false);
    expect(calls.map(({ params }) => params.message.taskId)).toEqual([undefined, undefined, 't1']);
    expect(calls[2]!.params.message.contextId).toBe('c1');
  });

  it('takes a plain message for an answer', async () => {
    const { url } = await agent({ body: { result: { kind: 'message', role: 'agent', ...text('hello') } } });
    expect(await createA2aDelegate({ ...options, url }).ask('hi', context)).toBe('hello');
  });

  /** What a call hands to the person. */
  const attaching = () => {
    const given: { name: string; mediaType: string; bytes: Uint8Array }[] = [];
    const attach = async (attached: (typeof given)[number]) => {
      given.push(attached);
      return undefined;
    };
    const texts = () => given.map(({ bytes }) => Buffer.from(bytes).toString());
    return { given, attach, texts };
  };
  const file = (given: object) => ({ parts: [{ kind: 'file', file: given }] });

  it('hands on the files of its answer, and tells of its data', async () => {
    const steps = { mimeType: 'application/vnd.trunkline.tool-call-v1+json' };
    const sources = { mimeType: 'application/vnd.trunkline.citations-v1+json' };
    const page = { url: 'https://a.example/red', title: 'Red' };
    const artifacts = [
      text('Here it is.'),
      file({ name: 'plan.png', mimeType: 'image/png; x=1', bytes: 'cGl4ZWxz' }),
      { parts: [{ kind: 'data', data: { name: 'search' }, metadata: steps }] },
      { parts: [{ kind: 'data', data: { total: 3 } }] },
      { parts: [{ kind: 'data', data: { citations: [page] }, metadata: sources }] },
    ];
    const { url } = await agent(task('completed', { artifacts }));
    const tool = createDelegateTo({ delegates: [createA2aDelegate({ ...options, url })] });
    const { given, attach, texts } = attaching();
    const asked = { target: 'scout', query: 'x' };
    const told = 'Here it is.\nData: {"total":3}\nSources:\n[1] Red: https://a.example/red';
    expect(await callTool(tool, asked, undefined, { attach })).toBe(
      `${told}\n(The person was given plan.png.)`,
    );
    expect(given).toMatchObject([{ name: 'plan.png', mediaType: 'image/png', isShown: true }]);
    expect(texts()).toEqual(['pixels']);
    expect(await callTool(tool, asked)).toBe(
      `${told}\n(plan.png, image/png, was left out: files cannot be handed on here. Say so.)`,
    );
  });

  it('has its links fetched: from itself and from public addresses, where policy lets the call go', async () => {
    const film = (uri: string) => file({ name: 'film.mp4', mimeType: 'video/mp4', uri });
    const artifacts: object[] = [text('See.')];
    const { url, base } = await agent(task('completed', { artifacts }));
    artifacts.push(film(`${base}/film.mp4`));
    const tool = createDelegateTo({ delegates: [createA2aDelegate({ ...options, url })] });
    const { attach, texts } = attaching();
    const ask = (more: object = {}) =>
      callTool(tool, { target: 'scout', query: 'x' }, undefined, { attach, ...more });
    expect(await ask()).toBe('See.\n(The person was given film.mp4.)');
    expect(texts()).toEqual(['frames']);
    expect(await ask({ permits: ({ url = '' }: { url?: string }) => !url.includes('film') })).toBe(
      'See.\n(film.mp4 could not be fetched: policy does not allow its address. Say so.)',
    );
    artifacts.splice(
      1,
      1,
      film('http://127.0.0.1:4040/film.mp4'),
      film(`${base}/away.mp4`),
      film(`${base}/none`),
    );
    const told = await ask();
    expect(told.match(/a loopback address/g)).toHaveLength(2);
    expect(told).toContain('its address answers with 404.');
    expect(texts()).toEqual(['frames']);
  });

  it('that asks back hands its files on once, and again those that have changed', async () => {
    const picture = (artifactId: string, words: string) => {
      const bytes = Buffer.from(words).toString('base64');
      return { artifactId, ...file({ name: `${artifactId}.png`, mimeType: 'image/png', bytes }) };
    };
    const status = { state: 'input-required', message: text('these?') };
    const { url } = await agent(
      task('input-required', { status, artifacts: [picture('plan', 'first'), picture('map', 'map')] }),
      task('completed', { artifacts: [picture('plan', 'second'), picture('map', 'map'), text('Done.')] }),
    );
    const scout = createA2aDelegate({ ...options, url });
    const { attach, texts } = attaching();
    expect(await scout.ask('draw', { ...context, attach })).toContain('(The person was given map.png.)');
    expect(await scout.ask('yes', { ...context, attach })).toBe('Done.\n(The person was given plan.png.)');
    expect(texts()).toEqual(['first', 'map', 'second']);
  });

  it.each([
    ['completed', 'See.\n(The person was given plan.png.)'],
    ['input-required', 'scout asks back: See.\n(The person was given plan.png.)'],
    ['failed', 'Error: scout did not finish: See..\n(The person was given plan.png.)'],
  ])('hands on files of what it says about its state: %s', async (state, told) => {
    const parts = [
      ...text('See.').parts,
      ...file({ name: 'plan.png', mimeType: 'image/png', bytes: 'cGl4ZWxz' }).parts,
    ];
    const { url } = await agent(task(state, { status: { state, message: { role: 'agent', parts } } }));
    const tool = createDelegateTo({ delegates: [createA2aDelegate({ ...options, url })] });
    const { attach, texts } = attaching();
    expect(await callTool(tool, { target: 'scout', query: 'x' }, undefined, { attach })).toBe(told);
    expect(texts()).toEqual(['pixels']);
  });

  it('may answer with data alone', async () => {
    const { url } = await agent(
      task('completed', { artifacts: [{ parts: [{ kind: 'data', data: { total: 3 } }] }] }),
    );
    expect(await createA2aDelegate({ ...options, url }).ask('x', context)).toBe('Data: {"total":3}');
  });

  it.each([
    [
      task('failed', { status: { state: 'failed', message: text('out of fuel') } }),
      'scout did not finish: out of fuel.',
    ],
    [task('canceled'), 'scout did not finish: canceled.'],
    [task('working'), 'scout has begun but gave no answer yet.'],
    [
      { body: { error: { code: -32601, message: 'Method not found' } } },
      'The agent scout answered with an error: Method not found',
    ],
    [{ status: 401, body: {} }, 'The agent scout did not accept our credentials.'],
    [{ status: 500, body: 'oops' }, 'The agent scout answered with an error: HTTP status 500'],
  ])('says what went wrong: %j', async (answer, words) => {
    const { url } = await agent(answer);
    await expect(createA2aDelegate({ ...options, url }).ask('x', context)).rejects.toThrow(words);
  });

  it('says that nobody is there', async () => {
    const scout = createA2aDelegate({ ...options, url: `http://127.0.0.1:${await freePort()}` });
    await expect(scout.ask('x', context)).rejects.toThrow(
      'The agent scout could not be reached (connection refused).',
    );
  });
});
