import { HttpError } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { StorageError } from '@trunkline/storage';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { echo, SteppedAgent } from '../fixtures/agents.ts';
import { enginesOfThisFile, outcome, send } from '../fixtures/engines.ts';
import type { AgentScript } from '../fixtures/start-agent.ts';
import { reasoningMediaType } from './turn.ts';

const { start } = enginesOfThisFile();

describe('states', () => {
  it('starts a new task as working and completes it [A105] [A108]', async () => {
    const { engine } = start(echo);
    const { live } = send(engine, 'hello');
    expect(live.state).toBe('working');
    await live.settled();
    expect(engine.get(live.id)).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ type: 'text', text: 'You said hello' }] }],
    });
  });

  it('fails a task when the agent says so, and when it breaks [A108]', async () => {
    const saysSo = start(async function* () {
      yield { type: 'failed', message: 'no model is configured' };
    });
    expect(await outcome(saysSo.engine, 'x')).toMatchObject({
      state: 'failed',
      statusMessage: { parts: [{ text: 'no model is configured' }] },
    });
    const breaks = start(async function* () {
      yield { type: 'progress', text: 'begun' };
      throw new Error('key sk-secret was refused');
    });
    const failed = await outcome(breaks.engine, 'x');
    expect(failed.state).toBe('failed');
    expect(JSON.stringify(failed)).not.toContain('sk-secret');
    expect(breaks.logger.errors()).toEqual(['executor failed']);
    const full = start(async function* () {
      yield { type: 'progress', text: 'begun' };
      throw new StorageError('disk_full', 'The database /secret/place cannot grow.');
    });
    expect(await outcome(full.engine, 'x')).toMatchObject({
      state: 'failed',
      statusMessage: { parts: [{ text: expect.stringMatching(/its disk is full\. Make room/) }] },
    });
  });

  it('parks at a question and resumes with the answer to the same task [A106] [A107] [A012]', async () => {
    const { engine } = start(async function* ({ resume, text }) {
      if (resume === undefined)
        yield { type: 'input-required', question: 'Which city?', schema: { type: 'string' } };
      else yield { type: 'completed', text: `${resume.text} ${text}` };
    });
    const parked = await outcome(engine, 'weather');
    expect(parked).toMatchObject({
      state: 'input-required',
      statusMessage: { role: 'agent', parts: [{ text: 'Which city?' }, { type: 'data' }] },
    });
    const done = await outcome(engine, 'Oslo', { taskId: parked.id, contextId: parked.contextId });
    expect(done).toMatchObject({ id: parked.id, state: 'completed', contextId: parked.contextId });
    expect(done.artifacts[0]?.parts[0]).toMatchObject({ text: 'Which city? Oslo' });
    expect(done.history.map(({ parts }) => parts[0])).toMatchObject([
      { text: 'weather' },
      { text: 'Which city?' },
      { text: 'Oslo' },
    ]);
  });

  it('drains several questions one by one', async () => {
    const questions = ['first?', 'second?'];
    const { engine } = start(async function* () {
      const question = questions.shift();
      yield question === undefined
        ? { type: 'completed', text: 'done' }
        : { type: 'input-required', question };
    });
    const { id } = await outcome(engine, 'go');
    expect((await outcome(engine, 'one', { taskId: id })).state).toBe('input-required');
    expect((await outcome(engine, 'two', { taskId: id })).state).toBe('completed');
  });

  it('starts afresh for a task id that waits for nothing, and refuses it when strict [A105]', async () => {
    const { engine } = start(echo);
    const first = await outcome(engine, 'one');
    const second = await outcome(engine, 'two', { taskId: first.id, contextId: first.contextId });
    expect(second.id).not.toBe(first.id);
    expect(second.contextId).toBe(first.contextId);
    expect((await outcome(engine, 'three', { taskId: 'unheard-of' })).id).not.toBe('unheard-of');
    expect(() => send(engine, 'x', { taskId: first.id }, true)).toThrow('completed and waits for no message');
    expect(() => send(engine, 'x', { taskId: 'unheard-of' }, true)).toThrow('Task not found: unheard-of');
  });

  it('refuses an answer from another context', async () => {
    const { engine } = start(async function* () {
      yield { type: 'input-required', question: 'who?' };
    });
    const { id } = await outcome(engine, 'x');
    expect(() => send(engine, 'me', { taskId: id, contextId: 'another' })).toThrow(
      'contextId does not belong',
    );
    expect(engine.get(id).state).toBe('input-required');
  });

  it('completes with what was streamed when the agent just stops', async () => {
    const { engine } = start(async function* () {
      yield { type: 'text-delta', text: 'all ' };
      yield { type: 'text-delta', text: 'there is' };
    });
    const task = await outcome(engine, 'x');
    expect(task.state).toBe('completed');
    expect(task.artifacts).toMatchObject([{ artifactId: 'answer', parts: [{ text: 'all there is' }] }]);
  });

  it('sends thoughts out in frames of their own, and keeps none', async () => {
    const { engine } = start(async function* () {
      for (const text of ['I ', 'think.']) yield { type: 'reasoning-delta', text };
      yield { type: 'completed', text: 'Yes.' };
    });
    const { live } = send(engine, 'x');
    const frames: unknown[] = [];
    live.subscribe(({ event }) => event.type === 'artifact' && frames.push(event.artifact.parts[0]));
    await live.settled();
    expect(frames).toMatchObject([
      { type: 'data', data: { text: 'I think.' }, metadata: { mimeType: reasoningMediaType } },
      { type: 'text', text: 'Yes.' },
    ]);
    expect(JSON.stringify(engine.get(live.id))).not.toContain('think');
  });

  it('puts the answer first and keeps tool frames out of the artifacts', async () => {
    const { engine } = start(async function* () {
      yield { type: 'tool-start', toolCallId: '1', name: 'search', args: { query: 'x' } };
      yield { type: 'tool-end', toolCallId: '1', name: 'search', result: 'found' };
      yield { type: 'artifact', name: 'chart', parts: [{ type: 'data', data: { y: 1 } }] };
      yield { type: 'completed', text: 'see the chart' };
    });
    const { artifacts } = await outcome(engine, 'x');
    expect(artifacts.map(({ artifactId, name }) => name ?? artifactId)).toEqual(['answer', 'chart']);
  });

  it('adds up usage and time over the turns of a task [A020]', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, costUsd: 0.25 };
    const agent = new SteppedAgent();
    const { engine, clock } = start(agent.script);
    const first = send(engine, 'x');
    await clock.advanceBy(200);
    agent.step({ type: 'usage', usage }, { type: 'input-required', question: 'y?' });
    await first.live.settled();
    const second = send(engine, 'y', { taskId: first.live.id });
    await clock.advanceBy(300);
    agent.step({ type: 'usage', usage }, { type: 'completed', text: 'z' });
    await second.live.settled();
    expect(engine.get(first.live.id)).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30, costUsd: 0.5 },
      durationMs: 500,
    });
  });

  it('keeps no task when the agent answers with a plain message', async () => {
    const { engine } = start(async function* () {
      yield { type: 'message', parts: [{ type: 'text', text: 'just this' }] };
    });
    const { live, stored } = send(engine, 'x');
    expect(await live.settled()).toMatchObject({
      message: { role: 'agent', parts: [{ text: 'just this' }] },
    });
    await stored;
    expect(engine.peek(live.id)).toBeUndefined();
    expect(engine.inMemory).toBe(0);
  });

  it('refuses more turns at once than it may run', async () => {
    const agent = new SteppedAgent();
    const { engine } = start(agent.script, { maximumRunning: 1 });
    send(engine, 'first');
    expect(() => send(engine, 'second')).toThrow('Too many tasks are running');
  });

  it('refuses a task to whoever keeps too much already, until something is gone', async () => {
    const agent = new SteppedAgent();
    const { engine, clock } = start(agent.script, { quotaBytes: 5000 });
    const { live, stored } = send(engine, 'x'.repeat(3000));
    agent.step({ type: 'completed', text: 'done' });
    await Promise.all([live.settled(), stored]);
    expect(() => send(engine, 'y'.repeat(3000))).toThrow(
      /^anonymous keeps .* MB here and may keep .*QUOTA_MB/,
    );
    await clock.advanceBy(25 * 3_600_000);
    expect(() => send(engine, 'y'.repeat(3000))).not.toThrow();
  });

  it('has one quota for the strangers of a surface, and one for each account', async () => {
    const agent = new SteppedAgent();
    const { engine } = start(agent.script, { quotaBytes: 5000 });
    const guest = (id: string) => ({ kind: 'person' as const, id, via: [], role: 'guest' as const });
    const sendAs = (id: string) => {
      const parts = [{ type: 'text' as const, text: 'x'.repeat(3000) }];
      const message = { messageId: crypto.randomUUID(), role: 'user' as const, parts };
      return engine.start({ message, metadata: {}, principal: guest(id), strict: false });
    };
    const { live, stored } = sendAs('mail:a@x.example');
    agent.step({ type: 'completed', text: 'done' });
    await Promise.all([live.settled(), stored]);
    const more = (id: string) => () => sendAs(id);
    expect(more('mail:b@x.example')).toThrow(/^person:mail:\* keeps/);
    for (const id of ['discord:1', 'user:gil', 'user:ann']) expect(more(id)).not.toThrow();
  });

  it('refuses an answer to a waiting task likewise, and counts what is kept besides', async () => {
    const agent = new SteppedAgent();
    let besides = 0;
    const { engine, clock } = start(agent.script, { quotaBytes: 5000, keptBesides: () => besides });
    const { live } = send(engine, 'ask me');
    agent.step({ type: 'input-required', question: 'Which?' });
    await live.settled();
    expect(() => send(engine, 'x'.repeat(6000), { taskId: live.id })).toThrow(/QUOTA_MB/);
    besides = 6000;
    expect(engine.refusal('person:new', 1)).toMatch(/^person:new keeps 0.0 MB/);
    // Who is full may still answer in few words.
    await clock.advanceBy(61_000);
    expect(engine.refusal('anonymous', 0)).toMatch(/QUOTA_MB/);
    expect(() => send(engine, 'no', { taskId: live.id })).not.toThrow();
  });
});

describe('a running turn', () => {
  it('is cut within 15 seconds when whoever asked is disabled or gets a lower role', async () => {
    let begun = 0;
    const untilCut: AgentScript = async function* (_request, signal) {
      begun += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield { type: 'failed', message: 'too late to matter' };
    };
    let refusal: Error | undefined;
    let role: 'member' | 'guest' = 'member';
    const current = (principal: Principal): Principal => {
      if (principal.id === 'user:ava' && refusal !== undefined) throw refusal;
      return role === 'member' ? principal : { ...principal, role };
    };
    const { engine, clock } = start(untilCut, { current });
    const asked = (id: string) =>
      engine.start({
        message: { messageId: id, role: 'user', parts: [{ type: 'text', text: 'long work' }] },
        metadata: {},
        principal: { kind: 'person', id, via: [], role: 'member' },
        strict: false,
      }).live;
    const [ava, bob] = [asked('user:ava'), asked('user:bob')];
    await waitFor(() => begun === 2);
    refusal = new Error('database is locked');
    await clock.advanceBy(15_000);
    expect([ava.state, bob.state]).toEqual(['working', 'working']);
    refusal = new HttpError('account_disabled', 403, 'The account Ava is disabled.');
    await clock.advanceBy(15_000);
    expect([ava.state, bob.state]).toEqual(['failed', 'working']);
    expect(JSON.stringify(ava.snapshot())).toContain('Stopped: The account Ava is disabled.');
    role = 'guest';
    await clock.advanceBy(15_000);
    expect(bob.state).toBe('failed');
  });
});

describe('a turn that somebody else answers', () => {
  it('is not cut with the rights of whoever answers', async () => {
    const agent = new SteppedAgent();
    const current = (principal: Principal): Principal =>
      principal.id === 'user:eve' ? { ...principal, role: 'guest' } : principal;
    const { engine, clock } = start(agent.script, { current });
    const { live } = send(engine, 'ask me');
    agent.step({ type: 'input-required', question: 'Which?' });
    await live.settled();
    const text = { type: 'text' as const, text: 'this one' };
    engine.start({
      message: { messageId: 'answer', role: 'user', parts: [text], taskId: live.id },
      metadata: {},
      principal: { kind: 'person', id: 'user:eve', via: [], role: 'member' },
      strict: false,
    });
    await waitFor(() => agent.asked.length === 2);
    await clock.advanceBy(15_000);
    expect(live.state).toBe('working');
  });
});

describe('cancelling', () => {
  it('stops a running task at once and ignores what the agent still says [A109] [A134]', async () => {
    const agent = new SteppedAgent();
    const { engine } = start(agent.script);
    const { live } = send(engine, 'long work');
    await waitFor(() => agent.asked.length === 1);
    const events: string[] = [];
    live.subscribe(({ event }) => events.push(event.type === 'status' ? event.state : event.type));
    expect(engine.cancel(live.id, false).task.state).toBe('canceled');
    expect(agent.aborted).toBe(1);
    agent.step({ type: 'text-delta', text: 'too late' }, { type: 'completed', text: 'too late' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual(['canceled']);
    expect(engine.get(live.id)).toMatchObject({ state: 'canceled', artifacts: [] });
    expect(engine.running).toBe(0);
  });

  it('leaves a task that has ended as it is, which strict callers are told [A110]', async () => {
    const { engine } = start(echo);
    const task = await outcome(engine, 'x');
    expect(engine.cancel(task.id, false).task).toEqual(task);
    expect(() => engine.cancel(task.id, true)).toThrow('Task cannot be canceled: it is completed');
    expect(() => engine.cancel('unheard-of', false)).toThrow('Task not found: unheard-of');
  });

  it('cancels a task that waits, which then takes no answer', async () => {
    const { engine } = start(async function* () {
      yield { type: 'input-required', question: 'sure?' };
    });
    const { id } = await outcome(engine, 'x');
    expect(engine.cancel(id, false).task.state).toBe('canceled');
    expect((await outcome(engine, 'yes', { taskId: id })).id).not.toBe(id);
  });
});
