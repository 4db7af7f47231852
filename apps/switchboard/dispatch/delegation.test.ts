import { createA2aClient } from '@trunkline/a2a';
import {
  acceptDescriptions,
  type ModelServer,
  startModelServer,
  waitFor,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type RemoteTestAgent, startRemoteAgent } from '../fixtures/remote-agent.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

/** What agents of other services do when they are asked; each test says it anew. */
const done = async (_asked: string, _signal: AbortSignal) => 'done';
const work = { far: done, near: done };
const counts = { far: { now: 0, most: 0, all: 0 }, near: { now: 0, most: 0, all: 0 } };

let [model, board, seen] = [] as unknown as [ModelServer, TestSwitchboard, Observer];
let remotes: RemoteTestAgent[];
beforeAll(async () => {
  model = await startModelServer({ script: reply });
  remotes = await Promise.all([remote('far'), remote('near')]);
});
afterAll(() => Promise.all([model.stop(), ...remotes.map((one) => one.stop())]));
beforeEach(() => {
  for (const count of Object.values(counts)) Object.assign(count, { now: 0, most: 0, all: 0 });
});

async function startBoard(env: Record<string, string> = {}): Promise<void> {
  const more = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
  const orchestrator = (name: string, other: string, skill: string) =>
    agent(name, `role: orchestrator\ncanDelegate: [${other}]\nskills: [{ name: ${skill} }]`);
  board = await startSwitchboard({
    env: { ...more, SWITCHBOARD_EXECUTOR_CONCURRENCY: '1', ...env },
    files: {
      'agents/helm.yaml': orchestrator('helm', 'far', 'chat'),
      'agents/left.yaml': orchestrator('left', 'right', 'go-left'),
      'agents/right.yaml': orchestrator('right', 'left', 'go-right'),
      'agents.yaml': `agents:
  - { name: far, url: "${remotes[0]?.url}", skills: [far-work] }
  - { name: near, url: "${remotes[1]?.url}", skills: [near-work] }`,
    },
  });
  seen = await observe(board);
  await areSeen('far', 'near');
  await acceptDescriptions(board.url);
}

/** Their cards were read. */
const areSeen = (...names: string[]) =>
  waitFor(async () => {
    const { data } = (await board.call('/api/agents')).body;
    return names.every((one) => data.some(({ name, sighting }: Json) => name === one && sighting?.reachable));
  });

async function stopBoard(): Promise<void> {
  seen.close();
  await board.stop();
}

/** Hands every question on where it can, and says what came back. */
function reply({ model: name, messages, tools }: Json) {
  const last = messages.at(-1);
  if (last.role === 'tool') return `${name} heard: ${withoutFence(last.content)}`;
  const description: string = tools?.find((tool: Json) => tool.function.name === 'delegate_to')?.function
    .description;
  if (description === undefined) return `${name} did it itself`;
  const target = /- (\w+):/.exec(description)?.[1];
  return { toolCalls: [{ name: 'delegate_to', arguments: { target, query: String(last.content) } }] };
}

function remote(name: 'far' | 'near'): Promise<RemoteTestAgent> {
  const count = counts[name];
  return startRemoteAgent(async function* ({ text }, signal) {
    count.now += 1;
    count.all += 1;
    count.most = Math.max(count.most, count.now);
    try {
      yield { type: 'progress', text: 'at it' };
      yield { type: 'completed', text: await work[name](text, signal) };
    } finally {
      count.now -= 1;
    }
  });
}

async function ask(skillHint: string, correlationId: string): Promise<string> {
  const payload = { skillHint, content: 'pass it on' };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
  return correlationId;
}
const answerTo = async (id: string) => (await seen.first(`agent.skill.response.${id}`)).payload;
const loads = async () => {
  const { data } = (await board.call('/api/agents')).body;
  return Object.fromEntries(data.map(({ name, load }: Json) => [name, [load.running, load.waiting]]));
};
const allAreIdle = () =>
  waitFor(async () => Object.values(await loads()).every((load) => String(load) === '0,0'));
const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('work that agents hand on', () => {
  beforeAll(() => startBoard());
  afterAll(stopBoard);

  it('is held to the limit of its agent, and whoever waits for it lends its own place', async () => {
    const gate = Promise.withResolvers<string>();
    work.far = () => gate.promise;
    const asked = await Promise.all(ids('lent-', 5).map((id) => ask('chat', id)));
    await waitFor(async () => String((await loads()).far) === '1,4');
    expect((await loads()).helm).toEqual([0, 0]);
    gate.resolve('found');
    for (const id of asked) expect((await answerTo(id)).content).toBe('model-of-helm heard: found');
    expect(counts.far).toMatchObject({ most: 1, all: 5 });
    await allAreIdle();
  });

  it('is refused in words when too many wait', async () => {
    const gate = Promise.withResolvers<string>();
    work.far = () => gate.promise;
    const asked = await Promise.all(ids('many-', 8).map((id) => ask('chat', id)));
    await waitFor(async () => String((await loads()).far) === '1,7');
    expect((await answerTo(await ask('chat', 'too-many'))).content).toMatch(
      /far has 1 requests at work and 7 waiting .* try again later/,
    );
    gate.resolve('found');
    for (const id of asked) await answerTo(id);
    expect(counts.far.most).toBe(1);
    await allAreIdle();
  });

  it('ends with the A2A task that asked for it when that is cancelled, in this process and elsewhere', async () => {
    work.far = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('stopped'), { once: true });
        if (signal.aborted) resolve('stopped');
      });
    const rpc = async (method: string, params: Json) =>
      (await board.call('/a2a', { jsonrpc: '2.0', id: 1, method, params })).body.result;
    for (const [target, skillHint] of [
      ['far', 'far-work'],
      ['helm', 'chat'],
    ]) {
      const parts = [{ kind: 'text', text: 'pass it on' }];
      const metadata = { agent: target, skillHint };
      const message = { kind: 'message', role: 'user', messageId: crypto.randomUUID(), parts, metadata };
      const { id } = await rpc('message/send', { message, configuration: { blocking: false } });
      await seen.first(`agent.skill.progress.${id}`);
      await waitFor(() => counts.far.now === 1);
      expect((await rpc('tasks/cancel', { id })).status.state).toBe('canceled');
      await waitFor(() => counts.far.now === 0);
      await allAreIdle();
      const flow = async () => (await board.call(`/api/flows/skill-${id}`)).body.data;
      await waitFor(async () => (await flow()).status === 'complete');
      const { errorPreview, trace } = await flow();
      expect(errorPreview).toMatch(/^Canceled by \w+/);
      expect(trace.at(-1)).toMatchObject({ event: 'end', details: { taskState: 'canceled' } });
    }
  });

  it('ends where agents wait for each other, with one place each', async () => {
    const asked = [
      ...ids('left-', 4).map((id) => ask('go-left', id)),
      ...ids('right-', 4).map((id) => ask('go-right', id)),
    ];
    for (const id of await Promise.all(asked)) {
      const [own, other] = id.startsWith('left') ? ['left', 'right'] : ['right', 'left'];
      expect((await answerTo(id)).content).toBe(
        `model-of-${own} heard: model-of-${other} heard: model-of-${own} did it itself`,
      );
    }
    await allAreIdle();
  });
});

describe('agents of other services that ask here again', () => {
  beforeAll(() => startBoard({ SWITCHBOARD_DELEGATION_WAIT_MS: '500' }));
  afterAll(stopBoard);

  const client = createA2aClient();
  const askBoard = async (asked: string, metadata: Record<string, unknown> = {}) => {
    const there = { name: 'board', url: `${board.url}/a2a` };
    const { signal } = new AbortController();
    const answer = await client.send(there, { text: asked, metadata }, { signal, timeoutMs: 60_000 });
    return answer.text || answer.statusText;
  };

  it('come to an end when their work comes back to themselves', async () => {
    work.far = (asked) => askBoard(asked);
    const { content } = await answerTo(await ask('chat', 'loop'));
    expect(content).toMatch(/^model-of-helm heard: model-of-helm heard: .*far has 1 requests at work/);
    expect(content).toContain('it may itself be waiting for this answer');
    expect(counts.far).toMatchObject({ most: 1, all: 1 });
    await allAreIdle();
  });

  it('come to an end too when they ask by the OpenAI door', async () => {
    work.far = async (content) => {
      const asked = { model: 'far/far-work', messages: [{ role: 'user', content }] };
      return (await board.call('/v1/chat/completions', asked)).body.error.message;
    };
    expect((await answerTo(await ask('far-work', 'openai-loop'))).content).toMatch(
      /far has 1 requests at work .* none ended within 0.5 s/,
    );
    await allAreIdle();
  });

  it('come to an end when two ask each other', async () => {
    work.far = (asked) => askBoard(asked, { agent: 'near', skillHint: 'near-work' });
    work.near = (asked) => askBoard(asked, { agent: 'far', skillHint: 'far-work' });
    const both = await Promise.all([ask('far-work', 'from-far'), ask('near-work', 'from-near')]);
    for (const id of both) expect(JSON.stringify(await answerTo(id))).toContain('requests at work');
    expect([counts.far.most, counts.near.most]).toEqual([1, 1]);
    await allAreIdle();
  });
});
