import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { openOperatorAccess, type Principal } from '@trunkline/identity';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentsOfThisFile } from '../fixtures/agents.ts';
import type { AgentScript } from '../fixtures/start-agent.ts';
import { createAgentFetch } from './agent-fetch.ts';
import type { OutgoingMessage, RemoteAgent, RemoteAgentError, RemoteReply } from './remote-agent.ts';
import { createA2aClient } from './service-client.ts';

const startAgent = agentsOfThisFile();
const token = 'between-services';
const peer = { token, name: 'switchboard', to: 'test' };
const ava: Principal = { kind: 'person', id: 'voice:ava', via: [], role: 'member' };
const keyed: OutgoingMessage = { text: 'Book it', messageId: 'm1', metadata: { idempotencyKey: 'm1' } };

describe('a request whose connection is cut just as it is used', () => {
  it.each([
    ['tasks/get', 2, 200, {}],
    ['GetTask', 2, 200, {}],
    ['message/send', 1, 'agent_unreachable', {}],
    ['message/send', 1, 'agent_unreachable', { message: { parts: [{ data: { method: 'tasks/get' } }] } }],
  ])('%s is sent %i times: %s', async (method, times, outcome, params) => {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      if (requests === 1) request.socket.destroy();
      else response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = createAgentFetch({ name: 'Scout', url }, Date.now);
    const sent = send(url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const seen = await sent.then(
      ({ status }) => status,
      ({ code }: RemoteAgentError) => code,
    );
    expect([requests, seen]).toEqual([times, outcome]);
  });
});

describe.each([
  ['1.0', { onlyVersion: '1.0' }],
  ['0.3', { onlyVersion: '0.3' }],
  ['the 0.3 of the contracts', { protocol: '0.3' }],
] as const)('a message whose connection is cut once the agent has read it, in %s', (_name, form) => {
  const ways = 'protocol' in form ? (['send'] as const) : (['send', 'stream'] as const);
  const start = async (cuts: number) => {
    const started = await startCutting(cuts, 'onlyVersion' in form ? form.onlyVersion : undefined);
    const agent: RemoteAgent = { ...started.agent, ...('protocol' in form && { protocol: form.protocol }) };
    return { ...started, agent };
  };

  it.each(ways)('goes again to one of our services, which does the work once: %s', async (way) => {
    const { agent, works, bodies } = await start(1);
    expect(await reply(way, { ...agent, peer }, keyed)).toMatchObject({ state: 'completed', text: 'done' });
    expect(works).toEqual(['voice:ava']);
    expect(bodies.map(({ params }) => params.message.messageId)).toEqual(['m1', 'm1']);
  });

  it.each(ways)('goes no third time: %s', async (way) => {
    const { agent, works, bodies } = await start(2);
    await expect(reply(way, { ...agent, peer }, keyed)).rejects.toMatchObject({ code: 'agent_unreachable' });
    expect([works.length, bodies.length]).toEqual([1, 2]);
  });

  it.each(ways)('goes once where nobody knows whether the work would be done twice: %s', async (way) => {
    const { metadata: _, ...unkeyed } = keyed;
    const { agent, bodies } = await start(2);
    const stranger = { ...agent, credentials: { bearer: 'another-key' } };
    for (const [asked, message] of [
      [stranger, keyed],
      [{ ...agent, peer }, unkeyed],
    ] as const) {
      await expect(reply(way, asked, message)).rejects.toMatchObject({ code: 'agent_unreachable' });
      expect(bodies.splice(0)).toHaveLength(1);
    }
  });
});

it('an answer that breaks off is told with its reason', async () => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jsonrpc":', () => request.socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent: RemoteAgent = { name: 'Scout', url, protocol: '0.3' };
  await expect(reply('send', agent, keyed)).rejects.toMatchObject({
    code: 'agent_unreachable',
    message: expect.stringContaining('the connection broke off'),
  });
});

describe('an agent that closes a connection just as it is used again', () => {
  it.each(['1.0', '0.3'] as const)('gets each message over a new one, in %s', async (version) => {
    keepIdleConnections();
    const { agent, works, bodies } = await startCutting('reused', version);
    const stranger = { ...agent, credentials: { bearer: 'another-key' } };
    for (const way of ['send', 'stream', 'send', 'stream'] as const)
      expect(await reply(way, stranger, { text: 'Book it' })).toMatchObject({ text: 'done' });
    expect([works.length, bodies.length]).toEqual([4, 4]);
  });
});

/** As fetch does outside of tests. */
function keepIdleConnections(): void {
  const dispatcher = Symbol.for('undici.globalDispatcher.1');
  const place = globalThis as unknown as Record<symbol, { constructor: new () => never }>;
  const before = place[dispatcher];
  if (before === undefined)
    throw new Error('This release of Node.js keeps the connections of fetch elsewhere.');
  place[dispatcher] = new before.constructor();
  onTestFinished(() => {
    place[dispatcher] = before;
  });
}

async function reply(way: 'send' | 'stream', agent: RemoteAgent, message: OutgoingMessage) {
  const client = createA2aClient();
  if (way === 'send') return await client.send(agent, message, { principal: ava });
  let last: RemoteReply | undefined;
  for await (const event of client.stream(agent, message, { principal: ava }))
    if (event.type === 'task-end') last = event.reply;
  return last;
}

/**
 * A whole agent that answers messages, the first so many on a connection that is cut before the answer gets out; with
 * `reused` those that come over a connection that has carried another request.
 */
async function startCutting(cuts: number | 'reused', onlyVersion: '0.3' | '1.0' | undefined) {
  const works: string[] = [];
  const script: AgentScript = async function* ({ principal }) {
    works.push(principal.id);
    yield { type: 'completed', text: 'done' };
  };
  const bodies: { params: { message: { messageId: string } } }[] = [];
  let target = '';
  let left = cuts === 'reused' ? 0 : cuts;
  const used = new WeakSet<Socket>();
  const server = createServer((incoming, outgoing) => {
    const isReused = used.has(incoming.socket);
    used.add(incoming.socket);
    void buffer(incoming).then((body) => {
      const { method = 'GET', url: path = '/', headers } = incoming;
      if (method === 'POST' && isReused && cuts === 'reused') {
        incoming.socket.destroy();
        return;
      }
      if (method === 'POST') bodies.push(JSON.parse(body.toString()));
      const forwarded = httpRequest(target + path, { method, headers }, (answer) => {
        if (method === 'POST' && left-- > 0) {
          answer.destroy();
          incoming.socket.destroy();
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on('error', () => outgoing.destroy());
      forwarded.end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = await startAgent(script, {
    ...(onlyVersion && { onlyVersion }),
    credentials: { bearer: 'another-key' },
    callers: { operator: openOperatorAccess, serviceToken: token },
    card: () => ({ name: 'Test', description: '', version: '1', publicUrl: url, skills: [] }),
  });
  target = agent.url;
  return { agent: { name: 'Test', url: `${url}/a2a` } as RemoteAgent, works, bodies };
}
