import {
  type NatsServer,
  natsMissing,
  startNatsServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RemoteTestAgent, startRemoteAgent } from '../fixtures/remote-agent.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

/** What the slow agent has done, and the gate that holds it up. */
const done: string[] = [];
let most = 0;
let gate = Promise.withResolvers<void>();

let slow: RemoteTestAgent;
let quick: RemoteTestAgent;
beforeAll(async () => {
  let now = 0;
  slow = await startRemoteAgent(async function* ({ text }) {
    most = Math.max(most, ++now);
    await gate.promise;
    now -= 1;
    done.push(text);
    yield { type: 'completed', text: `did ${text}` };
  });
  quick = await startRemoteAgent(async function* ({ text }) {
    yield { type: 'completed', text: `did ${text}` };
  });
});
afterAll(() => Promise.all([slow.stop(), quick.stop()]));

const burst = 60;
const ids = Array.from({ length: burst }, (_, number) => `b${number}`);

function describeBacklog(environment: () => Record<string, string>): void {
  let board: TestSwitchboard;
  let home: TemporaryDirectory;
  const start = () =>
    startSwitchboard({
      home: home.path,
      env: { SWITCHBOARD_EXECUTOR_CONCURRENCY: '2', ...environment() },
      files: {
        'agents.yaml': `agents:
  - { name: slow, url: "${slow.url}", skills: [wait] }
  - { name: quick, url: "${quick.url}", skills: [run] }`,
      },
    });
  beforeEach(async () => {
    gate = Promise.withResolvers();
    done.length = 0;
    most = 0;
    home = temporaryDirectory();
    board = await start();
  });
  afterEach(async () => {
    gate.resolve();
    await board.stop();
    home.remove();
  });

  const ask = (skillHint: string, correlationId: string) =>
    board.call('/publish', {
      topic: 'agent.skill.request',
      payload: { skillHint, content: correlationId },
      correlationId,
    });
  const flow = async (id: string): Promise<Json> => (await board.call(`/api/flows/skill-${id}`)).body.data;
  const isDone = async (id: string) => (await flow(id))?.stage === 'done';
  const loadOf = async (name: string) =>
    (await board.call('/api/agents')).body.data.find((agent: Json) => agent.name === name).load;
  /** More than the agent takes on: 2 at work, 14 waiting in memory, the rest in its queue. */
  const fill = async () => {
    for (const { status } of await Promise.all(ids.map((id) => ask('wait', id)))) expect(status).toBe(200);
    await waitFor(async () => {
      const { running, waiting } = await loadOf('slow');
      return running === 2 && waiting >= 14;
    });
  };

  it('a burst that was accepted is done, all of it and in its turn, and holds up no other agent', async () => {
    await fill();
    await ask('run', 'other');
    await waitFor(() => isDone('other'));
    expect(done).toEqual([]);
    gate.resolve();
    await waitFor(() => done.length >= burst, { timeoutMs: 60_000 });
    for (const id of ids) await waitFor(() => isDone(id), { timeoutMs: 60_000 });
    expect(done.toSorted()).toEqual(ids.toSorted());
    expect(most).toBe(2);
    expect(await loadOf('slow')).toMatchObject({ running: 0, waiting: 0 });
  });

  it('what waits is not lost when the switchboard stops meanwhile', async () => {
    await fill();
    gate.resolve();
    await waitFor(() => done.length > 0);
    await board.stop();
    board = await start();
    await waitFor(() => new Set(done).size === burst, { timeoutMs: 60_000 });
    for (const id of ids) await waitFor(() => isDone(id), { timeoutMs: 60_000 });
  });

  it('a caller that waits for its answer is refused before anything is accepted', async () => {
    await fill();
    const journalled = async () =>
      (await board.call('/api/bus/history?topic=agent.skill.request&limit=1000')).body.data.messages.length;
    const before = await journalled();
    const chat = { model: 'slow/wait', messages: [{ role: 'user', content: 'now' }] };
    for (const stream of [false, true]) {
      const refused = await board.fetch('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...chat, stream }),
      });
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await refused.json()).error.message).toMatch(/slow has 2 requests at work .* try again later/);
    }
    const message = {
      messageId: 'm1',
      role: 'user',
      parts: [{ kind: 'text', text: 'now' }],
      metadata: { agent: 'slow', skillHint: 'wait' },
    };
    for (const method of ['message/send', 'message/stream']) {
      const refused = await board.fetch('/a2a', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { message } }),
      });
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({
        id: 7,
        error: { message: expect.stringContaining('try again later') },
      });
    }
    expect(await journalled()).toBe(before);
    // Others are served meanwhile, and the same caller when there is room again.
    const other = { ...chat, model: 'quick/run' };
    expect((await board.call('/v1/chat/completions', other)).body.choices[0].message.content).toBe('did now');
    gate.resolve();
    for (const id of ids) await waitFor(() => isDone(id), { timeoutMs: 60_000 });
    expect((await board.call('/v1/chat/completions', chat)).body.choices[0].message.content).toBe('did now');
  });
}

describe('on the embedded bus', () => describeBacklog(() => ({})));

describe.skipIf(natsMissing !== undefined)('on NATS', () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNatsServer();
  });
  afterAll(() => nats.stop());
  describeBacklog(() => ({ NATS_URL: nats.url }));
});
