import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  anonymous,
  encodePrincipal,
  openOperatorAccess,
  type Principal,
  principalHeader,
} from '@trunkline/identity';
import { FakeClock } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createA2aClient } from './client/client.ts';
import type { OutgoingMessage, RemoteAgent } from './client/remote-agent.ts';
import type { ExecutionRequest } from './engine/executor.ts';
import { agentsOfThisFile } from './fixtures/agents.ts';
import { rpc, saying } from './fixtures/calls.ts';
import type { AgentScript } from './fixtures/start-agent.ts';
import { startGrpc } from './grpc/start-grpc.ts';

const uri = 'urn:trunkline:a2a:principal-v1';
const token = 'between-services';
const peer = { token, name: 'voice', to: 'test' };
const startAgent = agentsOfThisFile();
const closers: (() => unknown)[] = [];
afterAll(async () => {
  // A proxy goes before what stands behind it.
  for (const close of closers.reverse()) await close();
});

const ava: Principal = {
  kind: 'person',
  id: 'voice:ava',
  via: [],
  role: 'member',
  origins: [{ kind: 'fetch_url', source: 'https://example.com/' }],
};
/** As the agent must see her: handed on by voice. */
const avaOfVoice = { ...ava, via: ['voice'] };
const bytes = Buffer.from('a file').toString('base64');
const message: OutgoingMessage = {
  text: 'Book the room',
  metadata: { skill: 'booking', depth: { b: 1.5, a: [null, true] } },
  parts: [
    { type: 'data', data: { z: 1, a: { y: 'ü', b: [2, 3] } }, mediaType: 'application/json' },
    { type: 'file', bytes, name: 'room.txt', mediaType: 'text/plain' },
  ],
};

/** Asks for a key that the caller does not have, so that only the principal lets anybody in. */
async function start(options: {
  onlyVersion?: '0.3' | '1.0';
  publicUrl?: string;
  current?: typeof asTheyAre;
}) {
  const { onlyVersion, publicUrl = 'http://127.0.0.1', current = asTheyAre } = options;
  const seen: ExecutionRequest[] = [];
  const script: AgentScript = async function* (asked) {
    seen.push(asked);
    yield { type: 'completed', text: 'done' };
  };
  const accounts = {
    current,
    principalFor: () => undefined,
    createSession: () => '',
    endSession: () => undefined,
  };
  const agent = await startAgent(script, {
    ...(onlyVersion && { onlyVersion }),
    credentials: { bearer: 'another-key' },
    callers: { operator: openOperatorAccess, accounts, serviceToken: token },
    card: () => ({
      name: 'Test',
      description: '',
      version: '1',
      publicUrl,
      inputModes: ['text/plain', 'application/json'],
      skills: [],
    }),
  });
  return { agent, seen };
}

function asTheyAre(principal: Principal): Principal {
  return principal;
}

interface Passed {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A proxy that takes headers away, in front of a service that is started behind it. */
async function startProxy(taken: readonly string[]) {
  const passed: Passed[] = [];
  let target = '';
  const server = createServer((incoming, outgoing) => {
    void buffer(incoming).then((body) => {
      const { method = 'GET', url: path = '/' } = incoming;
      passed.push({ path, headers: incoming.headers, body: body.toString() });
      const headers = { ...incoming.headers };
      for (const name of taken) delete headers[name];
      const forwarded = httpRequest(target + path, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on('error', () => outgoing.destroy());
      forwarded.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const forwardTo = (address: string) => {
    target = address;
  };
  return { url, passed, forwardTo };
}

async function startBehindProxy(taken: readonly string[], onlyVersion?: '0.3' | '1.0') {
  const proxy = await startProxy(taken);
  const { agent, seen } = await start({ publicUrl: proxy.url, ...(onlyVersion && { onlyVersion }) });
  proxy.forwardTo(agent.url);
  const remote: RemoteAgent = { name: 'Test', url: `${proxy.url}/a2a`, peer };
  return { ...proxy, agent, seen, remote };
}

async function ended(events: AsyncIterable<{ type: string }>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { type } of events) last = type;
  return last;
}

const withoutPrincipal = [principalHeader];

describe.each([
  ['1.0', { onlyVersion: '1.0' }],
  ['0.3', { onlyVersion: '0.3' }],
  ['the 0.3 of the contracts', { protocol: '0.3' }],
] as const)('a message whose headers get lost, in %s', (_name, form) => {
  it('says on whose behalf it is sent', async () => {
    const { remote, seen } = await startBehindProxy(
      withoutPrincipal,
      'onlyVersion' in form ? form.onlyVersion : undefined,
    );
    const agent: RemoteAgent = { ...remote, ...('protocol' in form && { protocol: form.protocol }) };
    const client = createA2aClient();
    expect((await client.send(agent, message, { principal: ava })).text).toBe('done');
    if (!('protocol' in form))
      expect(await ended(client.stream(agent, message, { principal: ava }))).toBe('task-end');
    expect(seen.length).toBeGreaterThan(0);
    for (const { principal, metadata, message: received } of seen) {
      expect(principal).toEqual(avaOfVoice);
      expect(metadata).toEqual(message.metadata);
      expect(JSON.stringify(received)).not.toContain('signature');
    }
  });
});

describe('over gRPC', () => {
  it.each(['1.0', '0.3'])('says in %s on whose behalf a message is sent', async (protocolVersion) => {
    const { agent, seen } = await start({});
    const settings = { host: '127.0.0.1', grpcPort: 0, grpcCertFile: undefined, grpcKeyFile: undefined };
    const grpc = await startGrpc(settings, 'A2A', agent, agent.logger);
    if (grpc === undefined) throw new Error('gRPC did not start.');
    closers.push(grpc.stop);
    const stripped = await startGrpcProxy(grpc.port, withoutPrincipal);
    const remote = async (port: number): Promise<RemoteAgent> => ({
      name: 'Test',
      url: await serveCard({ url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion }),
      peer,
    });
    const client = createA2aClient();
    const lost = await remote(stripped);
    expect((await client.send(lost, message, { principal: ava })).text).toBe('done');
    expect(await ended(client.stream(lost, message, { principal: ava }))).toBe('task-end');
    // Only messages have a place for it: tasks are read by the header.
    const { taskId = '' } = await client.send(await remote(grpc.port), message, { principal: ava });
    expect((await client.get(await remote(grpc.port), taskId, { principal: ava })).state).toBe('completed');
    await expect(client.get(lost, taskId, { principal: ava })).rejects.toMatchObject({
      code: 'agent_unauthorized',
    });
    expect(seen.map(({ principal }) => principal)).toEqual([avaOfVoice, avaOfVoice, avaOfVoice]);
  });
});

describe('the principal of a message', () => {
  it('is refused when the message was changed, sent twice, or meant for another service', async () => {
    const { remote, seen, passed, agent } = await startBehindProxy(withoutPrincipal);
    await createA2aClient().send({ ...remote, protocol: '0.3' }, message, { principal: ava });
    const { headers, body } = passed.at(-1) as Passed;
    const again = async (given: string) => {
      const sent = { authorization: headers.authorization ?? '', 'x-a2a-extensions': uri };
      const answer = await fetch(`${agent.url}/a2a`, {
        method: 'POST',
        headers: { ...sent, 'content-type': 'application/json' },
        body: given,
      });
      return `${answer.status} ${await answer.text()}`;
    };
    const other = JSON.parse(body);
    expect(await again(body)).toMatch(/^401 .*used already/);
    for (const change of [
      (params: typeof other) => (params.message.parts[0].text = 'Book every room'),
      (params: typeof other) => (params.message.parts[1].data.a.y = 'u'),
      (params: typeof other) => (params.message.parts[2].file.bytes = 'AAAA'),
      (params: typeof other) => (params.message.messageId = 'another'),
      (params: typeof other) => (params.message.contextId = params.contextId = 'another'),
      (params: typeof other) => (params.message.taskId = 'another'),
      (params: typeof other) => (params.metadata.skill = 'paying'),
      (params: typeof other) => (params.message.metadata[uri].issuedAt += 1),
      (params: typeof other) => (params.message.metadata[uri].nonce = 'another'),
      (params: typeof other) =>
        (params.message.metadata[uri].principal = claimOf({ ...ava, id: 'voice:eve' })),
    ]) {
      const { params, ...rest } = JSON.parse(body);
      change(params);
      expect(await again(JSON.stringify({ ...rest, params }))).toMatch(/^401 .*not signed for this message/);
    }
    delete other.params.message.metadata[uri];
    expect(await again(JSON.stringify(other))).toMatch(/^401 .*asks for nobody/);
    for (const wrong of [
      null,
      'text',
      {},
      { ...JSON.parse(body).params.message.metadata[uri], signature: '' },
    ]) {
      other.params.message.metadata[uri] = wrong;
      expect(await again(JSON.stringify(other))).toMatch(/^401 /);
    }
    for (const stranger of [
      { ...peer, token: 'guessed' },
      { ...peer, to: 'research' },
    ]) {
      const forged = createA2aClient().send({ ...remote, peer: stranger }, message, { principal: ava });
      await expect(forged).rejects.toMatchObject({ code: 'agent_unauthorized' });
    }
    expect(seen).toHaveLength(1);
  });

  it('expires, and is not believed where it was signed before the service started', async () => {
    const { remote, seen, agent } = await startBehindProxy(withoutPrincipal);
    for (const minutes of [-6, -1, 6]) {
      const clock = new FakeClock(Date.now() + minutes * 60_000);
      const late = createA2aClient(clock).send(remote, message, { principal: ava });
      await expect(late, `${minutes} minutes`).rejects.toMatchObject({
        code: 'agent_unauthorized',
        cause: { message: expect.stringContaining('check the clocks') },
      });
    }
    expect(seen).toEqual([]);
    const reasons = agent.logger.lines.flatMap(({ level, fields }) =>
      level === 'warn' && 'reason' in fields ? String(fields.reason) : [],
    );
    expect(reasons).toEqual(Array(3).fill(expect.stringContaining('check the clocks')));
  });

  it('is left aside by a service with another clock where the header says the same', async () => {
    const { remote, seen, passed, agent } = await startBehindProxy([]);
    for (const minutes of [-6, -1, 6]) {
      const clock = new FakeClock(Date.now() + minutes * 60_000);
      const asked = { ...remote, protocol: '0.3' as const };
      const { text } = await createA2aClient(clock).send(asked, message, { principal: ava });
      expect(text, `${minutes} minutes`).toBe('done');
    }
    expect(seen.map(({ principal }) => principal)).toEqual([avaOfVoice, avaOfVoice, avaOfVoice]);
    expect(JSON.stringify(seen.map((request) => [request.message, request.metadata]))).not.toContain(
      'signature',
    );
    // What was changed on the way is refused, whatever the header says.
    const { headers, body } = passed.at(-1) as Passed;
    const { authorization = '', [principalHeader]: named = '' } = headers;
    const answer = await fetch(`${agent.url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization, [principalHeader]: String(named) },
      body: body.replace('Book the room', 'Book every room'),
    });
    expect(answer.status).toBe(401);
  });

  it('has the rights that the account has now', async () => {
    const proxy = await startProxy(withoutPrincipal);
    const current = (principal: Principal): Principal => ({ ...principal, role: 'guest' });
    const { agent, seen } = await start({ publicUrl: proxy.url, current });
    proxy.forwardTo(agent.url);
    const remote = { name: 'Test', url: `${proxy.url}/a2a`, peer };
    await createA2aClient().send(remote, message, { principal: ava });
    expect(seen[0]?.principal).toEqual({ ...avaOfVoice, role: 'guest' });
  });

  it('opens no door where the token between services does not arrive', async () => {
    const { remote, seen } = await startBehindProxy([principalHeader, 'authorization']);
    const sent = createA2aClient().send(remote, message, { principal: ava });
    await expect(sent).rejects.toMatchObject({ code: 'agent_unauthorized' });
    expect(seen).toEqual([]);
  });

  it('lets nobody in who showed no key, where one is needed', async () => {
    const { remote, seen, passed } = await startBehindProxy(withoutPrincipal);
    const sent = createA2aClient().send(remote, message, { principal: anonymous });
    await expect(sent).rejects.toMatchObject({ code: 'agent_unknown_caller' });
    // It was signed, by a service that may sign.
    expect(passed.at(-1)?.body).toContain('signature');
    expect(seen).toEqual([]);
  });

  it('leaves its marks where the key of the service lets somebody in for whom nobody is named', async () => {
    const { agent, seen } = await start({});
    const headers = {
      'x-api-key': token,
      authorization: 'Bearer another-key',
      [principalHeader]: encodePrincipal({ ...anonymous, via: ['switchboard'], origins: ava.origins ?? [] }),
    };
    expect((await rpc(agent, 'message/send', saying('hello'), headers)).status).toBe(200);
    // What cannot be read may have told of origins.
    const broken = { ...headers, [principalHeader]: 'broken' };
    expect((await rpc(agent, 'message/send', saying('hello'), broken)).status).toBe(200);
    const holder = { kind: 'agent', id: 'a2a', via: [] };
    expect(seen.map(({ principal }) => principal)).toEqual([
      { ...holder, origins: ava.origins },
      { ...holder, origins: [{ kind: 'message', source: 'unknown' }] },
    ]);
  });

  it('stands on the card of each version, and is told to be active', async () => {
    const { agent, remote, passed } = await startBehindProxy([]);
    for (const version of ['0.3', '1.0']) {
      const card = await fetch(`${agent.url}/.well-known/agent-card.json`, {
        headers: { 'a2a-version': version },
      });
      const { capabilities } = (await card.json()) as { capabilities: { extensions: { uri: string }[] } };
      expect(capabilities.extensions.map((extension) => extension.uri)).toContain(uri);
    }
    await createA2aClient().send(remote, message, { principal: ava });
    const { headers, body } = passed.at(-1) as Passed;
    expect(headers['a2a-extensions']).toBe(uri);
    expect(JSON.parse(body).params.message.extensions).toEqual([uri]);
    const stranger = { name: 'Test', url: remote.url, credentials: { bearer: 'another-key' } };
    await createA2aClient().send(stranger, message, { principal: ava });
    expect(passed.at(-1)?.body).not.toContain(uri);
  });
});

function claimOf(principal: Principal): string {
  return Buffer.from(JSON.stringify({ ...principal, via: ['voice'] })).toString('base64url');
}

async function serveCard(entry: object): Promise<string> {
  const card = { name: 'Test', supportedInterfaces: [entry], capabilities: { streaming: true } };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(card));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The same for HTTP/2, on which gRPC stands. Returns its port. */
async function startGrpcProxy(port: number, taken: readonly string[]): Promise<number> {
  const behind = connect(`http://127.0.0.1:${port}`);
  // Its requests fail with it.
  behind.on('error', () => undefined);
  const server = createHttp2Server();
  server.on('stream', (stream: ServerHttp2Stream, incoming) => {
    const headers = { ...incoming };
    for (const name of taken) delete headers[name];
    const forwarded = behind.request(headers);
    stream.pipe(forwarded);
    let trailers: object = {};
    forwarded.on('trailers', (given) => {
      trailers = given;
    });
    forwarded.on('response', (answer, flags) => {
      // The client has left.
      if (stream.destroyed || stream.closed) return void forwarded.close();
      const isWhole = (flags & 1) === 1;
      stream.respond(answer, { waitForTrailers: !isWhole, endStream: isWhole });
      stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }));
      forwarded.pipe(stream);
    });
    stream.on('error', () => forwarded.close());
    forwarded.on('error', () => stream.close());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () => behind.destroy(),
    () => server.close(),
  );
  return (server.address() as AddressInfo).port;
}
