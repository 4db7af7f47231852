import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Message } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { type RemoteAgent, targetsSchema, toTargets } from '@trunkline/a2a';
import { type FakePeer, type PeerAnswer, startFakePeer, waitFor } from '@trunkline/testing';
import {
  DefaultRequestHandler as EarlierHandler,
  InMemoryTaskStore as EarlierStore,
} from 'a2a-sdk-0.3/server';
import {
  UserBuilder as EarlierUsers,
  agentCardHandler as earlierCard,
  jsonRpcHandler as earlierRpc,
} from 'a2a-sdk-0.3/server/express';
import express, { type Express } from 'express';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { advanceUntil, schedulerHome, type TestScheduler } from '../fixtures/start-scheduler.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

let place: ReturnType<typeof schedulerHome>;
let board: TestScheduler;
let peer: FakePeer;
let answers: PeerAnswer[];
let targets: ReadonlyMap<string, RemoteAgent> | undefined;

beforeEach(async () => {
  answers = [];
  peer = await startFakePeer({ answer: () => answers.shift() ?? { text: 'Got it.' } });
  targets = new Map([
    [
      'ava',
      {
        name: 'ava',
        url: peer.url,
        protocol: '0.3',
        credentials: { bearer: 'secret-b', apiKey: 'secret-k' },
      },
    ],
  ]);
  place = schedulerHome('2026-03-02T08:59:30Z');
  board = await place.start({ targets: () => targets });
});
afterEach(async () => {
  await board.stop();
  await peer.stop();
  place.remove();
});

async function fire(more: object = {}): Promise<void> {
  await add('wake', more);
  await place.clock.advanceTo('2026-03-02T09:00:00Z');
}

async function add(id: string, more: object = {}): Promise<void> {
  const payload = {
    content: 'Wake up.',
    channel: 'a2a',
    agent_name: 'ava',
    scheduler_job_id: 'morning',
    ...more,
  };
  await board.command({
    action: 'add',
    id,
    schedule: '0 9 * * *',
    timezone: 'UTC',
    topic: 'cron.ava.morning',
    payload,
  });
}

const newest = async (): Promise<Json> => (await board.history('wake'))[0];
const ended = (stepMs: number) =>
  advanceUntil(place.clock, stepMs, () =>
    board.messages.find(({ topic }) => topic.startsWith('agent.skill.response')),
  );

it('hands on whom it is for, and marks what its words were drawn from', async () => {
  const origins = [{ kind: 'fetch_url', source: 'https://evil.example/' }];
  answers.push({ text: 'Up.', files: [{ name: 'dawn.png', mimeType: 'image/png', bytes: 'AA==' }] });
  await fire({ on_behalf_of: 'sealed', origins });
  await waitFor(async () => (await newest())?.status === 'done');
  expect(peer.requests[0]?.body).toMatchObject({
    params: { message: { metadata: { on_behalf_of: 'sealed', scheduled_at: '2026-03-02T09:00:00.000Z' } } },
  });
  const about = board.messages.filter(({ topic }) => /^(cron|agent.skill.response)\./.test(topic));
  expect(about.map(({ principal }) => principal?.origins)).toEqual([origins, origins]);
  expect((about[1] as Json).payload.content).toBe('Up.\n(Made, and not fetched: dawn.png)');
});

it('posts message/send in the form of the contract, with the credentials of a2a.yaml [S014][S101]', async () => {
  await fire();
  await waitFor(async () => (await newest())?.status === 'done');
  const [request] = peer.requests;
  expect(request?.line).toBe('POST /a2a');
  expect(request?.headers).toMatchObject({ authorization: 'Bearer secret-b', 'x-api-key': 'secret-k' });
  expect(request?.body).toMatchObject({
    jsonrpc: '2.0',
    method: 'message/send',
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    params: {
      message: {
        messageId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
        role: 'user',
        parts: [{ kind: 'text', text: 'Wake up.' }],
        metadata: { scheduler_job_id: 'morning', channel: 'a2a', agent_name: 'ava' },
      },
    },
  });
  expect(board.on('cron.ava.morning')).toHaveLength(1);
});

it('tries again with growing pauses, under the same message id', async () => {
  answers = [{ status: 503 }, { error: { code: -32603, message: 'busy' } }];
  await fire();
  await ended(1000);
  await waitFor(async () => (await newest())?.status === 'done');
  const ids = peer.requests.map(({ body }) => (body as Json).params.message.messageId);
  expect([ids.length, new Set(ids).size]).toEqual([3, 1]);
});

it('counts an error in a good answer as a failure, and shows it in the history', async () => {
  answers = Array.from({ length: 9 }, () => ({ error: { code: -32602, message: 'no such job' } }));
  await fire();
  await ended(1000);
  await waitFor(async () => (await newest())?.status === 'failed');
  expect((await newest()).detail).toContain('no such job');
  expect(peer.requests).toHaveLength(4);
  await waitFor(() => board.on('system.error').length > 0);
  expect(board.log.join('')).not.toContain('secret-');
});

it('does not wait for an agent that does not answer', async () => {
  answers = Array.from({ length: 9 }, () => ({ hang: true }));
  await fire();
  await ended(5000);
  await waitFor(async () => (await newest())?.status === 'failed');
  expect((await newest()).detail).toContain('in time');
});

it.each([
  ['task that failed', { failure: 'the disk is full' }, 'the disk is full'],
  ['refusal of the key', { status: 401 }, 'credentials'],
])('does not repeat a %s', async (_, reply, words) => {
  answers = [reply];
  await fire();
  await waitFor(async () => (await newest())?.status === 'failed');
  expect((await newest()).detail).toContain(words);
  expect(peer.requests).toHaveLength(1);
});

it('drops the firing with a loud error when there is no a2a.yaml, or not that target [S146]', async () => {
  targets = undefined;
  await fire();
  await waitFor(async () => (await newest())?.status === 'failed');
  expect((await newest()).detail).toContain('no a2a.yaml');
  expect(board.log.some((line) => line.includes('"level":"error"') && line.includes('no a2a.yaml'))).toBe(
    true,
  );
  expect(board.on('system.error')[0]?.payload).toMatchObject({ source: 'scheduler' });
  targets = new Map();
  await place.clock.advanceBy(86_400_000);
  await waitFor(async () => (await newest())?.detail?.includes('has no target "ava"'));
  expect(peer.requests).toEqual([]);
});

it('goes on with a delivery that a restart cut short', async () => {
  answers = [{ hang: true }];
  await fire();
  await waitFor(() => peer.requests.length === 1);
  await board.stop();
  board = await place.start({ targets: () => targets });
  await waitFor(async () => (await newest())?.status === 'done');
  const ids = peer.requests.map(({ body }) => (body as Json).params.message.messageId);
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
});

it.each([
  ['1.0', serveCurrent],
  ['0.3', serveEarlier],
])(
  'reaches the server of the official SDK that speaks %s alone, by base, endpoint and card',
  async (_, serve) => {
    const heard: string[] = [];
    const app = express();
    const server = createServer(app);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    serve(app, `${origin}/rpc`, heard);
    const addresses = {
      base: origin,
      endpoint: `${origin}/rpc`,
      card: `${origin}/.well-known/agent-card.json`,
    };
    const entries = Object.entries(addresses).map(([name, url]) => [name, { url }]);
    targets = toTargets(targetsSchema.parse({ targets: Object.fromEntries(entries) }));
    for (const name of Object.keys(addresses)) await add(name, { agent_name: name, content: name });
    await place.clock.advanceTo('2026-03-02T09:00:00Z');
    for (const name of Object.keys(addresses))
      await waitFor(async () => (await board.history(name))[0]?.status === 'done');
    expect(heard.sort()).toEqual(['base', 'card', 'endpoint']);
  },
);

const cardOf = { name: 'Ava', description: 'Wakes.', version: '1', capabilities: {}, skills: [] };
const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };

function serveCurrent(app: Express, url: string, heard: string[]): void {
  const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const card = AgentCard.fromJSON({ ...cardOf, ...modes, supportedInterfaces });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), {
    async execute({ userMessage }, bus) {
      heard.push(...userMessage.parts.map(({ content }) => String(content?.value)));
      const said = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Awake.' }] };
      bus.publish(AgentEvent.message(Message.fromJSON(said)));
    },
    cancelTask: () => Promise.reject(new Error('Nothing to cancel')),
  });
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
}

function serveEarlier(app: Express, url: string, heard: string[]): void {
  const card = { ...cardOf, ...modes, url, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' };
  const requestHandler = new EarlierHandler(card, new EarlierStore(), {
    async execute({ userMessage }, bus) {
      heard.push(...userMessage.parts.map((part) => (part.kind === 'text' ? part.text : part.kind)));
      const parts = [{ kind: 'text' as const, text: 'Awake.' }];
      bus.publish({ kind: 'message', messageId: 'm', role: 'agent', parts });
      bus.finished();
    },
    cancelTask: () => Promise.reject(new Error('Nothing to cancel')),
  });
  app.use('/.well-known/agent-card.json', earlierCard({ agentCardProvider: requestHandler }));
  app.use('/rpc', earlierRpc({ requestHandler, userBuilder: EarlierUsers.noAuthentication }));
}
