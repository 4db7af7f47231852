import type { RemoteAgent } from '@trunkline/a2a';
import { type FakePeer, type PeerAnswer, startFakePeer, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
  const payload = {
    content: 'Wake up.',
    channel: 'a2a',
    agent_name: 'ava',
    scheduler_job_id: 'morning',
    ...more,
  };
  await board.command({
    action: 'add',
    id: 'wake',
    schedule: '0 9 * * *',
    timezone: 'UTC',
    topic: 'cron.ava.morning',
    payload,
  });
  await place.clock.advanceTo('2026-03-02T09:00:00Z');
}

const newest = async (): Promise<Json> => (await board.history('wake'))[0];
const ended = (stepMs: number) =>
  advanceUntil(place.clock, stepMs, () =>
    board.messages.find(({ topic }) => topic.startsWith('agent.skill.response')),
  );

it('hands on whom it is for, and marks what its words were drawn from', async () => {
  const origins = [{ kind: 'fetch_url', source: 'https://evil.example/' }];
  await fire({ on_behalf_of: 'sealed', origins });
  await waitFor(async () => (await newest())?.status === 'done');
  expect(peer.requests[0]?.body).toMatchObject({
    params: { message: { metadata: { on_behalf_of: 'sealed', scheduled_at: '2026-03-02T09:00:00.000Z' } } },
  });
  const about = board.messages.filter(({ topic }) => /^(cron|agent.skill.response)\./.test(topic));
  expect(about.map(({ principal }) => principal?.origins)).toEqual([origins, origins]);
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
