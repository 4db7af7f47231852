import { DatabaseSync } from 'node:sqlite';
import { anonymous } from '@trunkline/identity';
import { openDatabase } from '@trunkline/storage';
import { FakeClock, waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { echo, SteppedAgent } from '../fixtures/agents.ts';
import { enginesOfThisFile, hideTable, outcome, refuseRows, send } from '../fixtures/engines.ts';
import type { AgentScript } from '../fixtures/start-agent.ts';
import type { TaskEngine } from './engine.ts';
import { Feed } from './feed.ts';
import { migrations } from './task-store.ts';

const { start, restart } = enginesOfThisFile();

describe('memory and disk', () => {
  it('reads a task back after it was evicted, and spares those that work [A025] [A132] [A182]', async () => {
    const agent = new SteppedAgent();
    const { engine, clock } = start(agent.script);
    agent.step({ type: 'completed', text: 'early' });
    const finished = await outcome(engine, 'quick');
    const { live } = send(engine, 'slow');
    await clock.advanceBy(61 * 60 * 1000);
    engine.sweep();
    expect(engine.inMemory).toBe(1);
    expect(engine.running).toBe(1);
    expect(engine.get(finished.id)).toEqual(finished);
    expect(engine.get(live.id).state).toBe('working');
  });

  it('holds only the last few finished tasks in memory', async () => {
    const { engine } = start(echo, { maximumRunning: 1000 });
    const turns = Array.from({ length: 250 }, (_, count) => send(engine, `number ${count}`));
    await Promise.all(turns.map(({ live }) => live.settled()));
    expect(engine.inMemory).toBe(200);
    for (const { live } of turns) expect(engine.get(live.id).state).toBe('completed');
  });

  it('removes a task a day after its last change [A025] [A182]', async () => {
    const { engine, clock } = start(echo);
    const task = await outcome(engine, 'x');
    await clock.advanceBy(23 * 60 * 60 * 1000);
    expect(engine.get(task.id).state).toBe('completed');
    await clock.advanceBy(2 * 60 * 60 * 1000);
    expect(() => engine.get(task.id)).toThrow('Task not found');
    expect(engine.list({}).totalSize).toBe(0);
  });

  it('keeps the events of a short turn in the row of its task, those of others in order', async () => {
    const agent = new SteppedAgent();
    const { engine, clock, settings } = start(agent.script);
    agent.step({ type: 'text-delta', text: 'a' }, { type: 'completed', text: 'ab' });
    const short = await outcome(engine, 'short');
    const { live } = send(engine, 'long');
    agent.step({ type: 'progress', text: 'one' });
    await waitFor(() => live.sequence === 1);
    await clock.advanceBy(1000);
    agent.step({ type: 'completed', text: 'two' });
    await live.settled();
    const next = restart(engine, settings);
    const numbers = (id: string) => next.eventsAfter(next.find(id), 0).map(({ sequence }) => sequence);
    expect([numbers(short.id), numbers(live.id)]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    const database = openDatabase(settings.path, { migrations });
    const rows = database.prepare<{ n: number }>('SELECT count(*) AS n FROM task_events').get()?.n;
    database.close();
    expect(rows).toBe(2);
  });

  it('lists newest first, by filter, page after page', async () => {
    const { engine, clock } = start(echo);
    for (const contextId of ['a', 'b', 'a', 'a']) {
      await outcome(engine, 'x', { contextId });
      await clock.advanceBy(10);
    }
    const first = engine.list({ contextId: 'a', pageSize: 2 });
    expect(first).toMatchObject({ totalSize: 3, pageSize: 2 });
    const second = engine.list({ contextId: 'a', pageSize: 2, pageToken: first.nextPageToken });
    expect(second.nextPageToken).toBe('');
    const times = [...first.tasks, ...second.tasks].map(({ updatedAt }) => updatedAt);
    expect(times).toEqual(times.toSorted((left, right) => right - left));
    expect(new Set(times).size).toBe(3);
    expect(engine.list({ state: 'working' }).totalSize).toBe(0);
    expect(engine.list({ updatedAfter: times[1] ?? 0 }).totalSize).toBe(2);
    expect(engine.list({ updatedAfter: (times[1] ?? 0) + 1 }).totalSize).toBe(1);
    expect(() => engine.list({ pageToken: 'nonsense' })).toThrow('pageToken');
    expect(() => engine.list({ pageSize: 101 })).toThrow('pageSize');
  });

  it.each(['answer', 'stream'])('tells nobody of an end that is not on disk, by %s [A025]', async (door) => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    const { live, stored } = send(engine, 'x');
    await stored;
    const reader = new DatabaseSync(settings.path, { readOnly: true });
    const onDisk = () => reader.prepare('SELECT state FROM tasks').get()?.state;
    const seen = Promise.withResolvers<unknown>();
    if (door === 'answer') void live.settled().then(() => seen.resolve(onDisk()));
    else
      Feed.fromNow(engine, live, { until: 'turn' }).open({
        task: () => undefined,
        event: ({ event }) => {
          if (event.type === 'status' && event.state === 'completed') seen.resolve(onDisk());
          return true;
        },
        drained: async () => undefined,
        end: () => seen.reject(new Error('ended without a word')),
      });
    agent.step({ type: 'completed', text: 'done' });
    expect(await seen.promise).toBe('completed');
    reader.close();
  });

  it.each([1, 2])(
    'gives all of a task that has ended to a reader that lags at each %i. event, and ends then',
    async (every) => {
      const { engine } = start(echo);
      const { live } = send(engine, 'x');
      await live.settled();
      const told: number[] = [];
      const ended = Promise.withResolvers<number[]>();
      Feed.after(engine, live, 0, { until: 'task' }).open({
        task: () => undefined,
        event: ({ sequence }) => told.push(sequence) % every > 0,
        drained: () => new Promise((resolve) => setImmediate(resolve)),
        end: () => ended.resolve([...told]),
      });
      expect(await ended.promise).toEqual(Array.from({ length: live.sequence }, (_, index) => index + 1));
      expect(live.sequence).toBeGreaterThan(1);
    },
  );

  it('says when a task could not be written', async () => {
    const { engine, logger, settings } = start(echo);
    const other = new DatabaseSync(settings.path);
    other.exec('DROP TABLE tasks');
    other.close();
    const { stored } = send(engine, 'x');
    expect(await stored).toBe(false);
    expect(logger.errors()).toContain('failed to write a2a-tasks.db; retrying');
  });
});

describe('a disk that fails for a while', () => {
  it('neither runs nor later writes a new task that it could not write, and says so', async () => {
    const agent = new SteppedAgent();
    const { engine, clock, settings } = start(agent.script);
    const news: string[] = [];
    engine.observe({
      turnStarted: () => void news.push('started'),
      turnEnded: () => void news.push('ended'),
      taskDropped: () => void news.push('dropped'),
    });
    const showTable = hideTable(settings.path, 'tasks');
    const { live, stored } = send(engine, 'x');
    const settled = live.settled();
    expect(await stored).toBe(false);
    expect(await settled).toMatchObject({ task: { state: 'failed' } });
    showTable();
    await clock.advanceBy(60_000);
    expect(agent.asked).toEqual([]);
    expect(news).toEqual(['dropped']);
    expect(engine.running).toBe(0);
    expect(() => engine.get(live.id)).toThrow('Task not found');
    expect(restart(engine, settings).list({}).totalSize).toBe(0);
  });

  it('has what happened to a task in the end', async () => {
    const agent = new SteppedAgent();
    const { engine, clock, settings } = start(agent.script);
    const { live, stored } = send(engine, 'x');
    expect(await stored).toBe(true);
    const showTable = hideTable(settings.path, 'tasks');
    agent.step({ type: 'text-delta', text: 'half' });
    await clock.advanceBy(10);
    agent.step({ type: 'completed', text: 'half and whole' });
    await clock.advanceBy(10);
    showTable();
    await clock.advanceBy(2000);
    const next = restart(engine, settings);
    expect(next.get(live.id)).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ text: 'half and whole' }] }],
    });
    expect(next.eventsAfter(next.find(live.id), 0).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it('lets a task wait on when its answer could not be written, and takes the answer again', async () => {
    const agent = new SteppedAgent();
    const { engine, clock, settings } = start(agent.script);
    agent.step({ type: 'input-required', question: 'name?' });
    const parked = await outcome(engine, 'x');
    const showTable = hideTable(settings.path, 'tasks');
    expect(await send(engine, 'Ada', { taskId: parked.id }).stored).toBe(false);
    expect(engine.get(parked.id)).toEqual(parked);
    expect(agent.asked).toEqual(['x']);
    showTable();
    await clock.advanceBy(2000);
    expect(restart(engine, settings).get(parked.id)).toEqual(parked);
    const { engine: same } = start(agent.script, { path: settings.path, clock });
    agent.step({ type: 'completed', text: 'hello Ada' });
    expect(await outcome(same, 'Ada', { taskId: parked.id })).toMatchObject({ state: 'completed' });
    expect(agent.asked).toEqual(['x', 'Ada']);
  });

  it('does not end the process when old tasks are removed', async () => {
    const { engine, clock, logger, settings } = start(echo);
    await outcome(engine, 'x');
    const showTable = hideTable(settings.path, 'task_events');
    await clock.advanceBy(25 * 60 * 60 * 1000);
    expect(logger.errors()).toContain('failed to delete expired tasks; retrying');
    showTable();
    await clock.advanceBy(5 * 60 * 1000);
    expect(engine.list({}).totalSize).toBe(0);
  });
});

describe('a request of a schedule that comes again', () => {
  const fire = { messageId: 'job@2026-03-01T12:00:00.000Z', metadata: { scheduler_job_id: 'job' } };

  it('is the same task, while it works, when it has ended, and after a restart', async () => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    const [first, atOnce] = [send(engine, 'x', fire), send(engine, 'x', fire)];
    await Promise.all([first.stored, atOnce.stored]);
    const later = send(engine, 'x', fire);
    agent.step({ type: 'completed', text: 'done' });
    const done = await outcome(engine, 'x', fire);
    expect([atOnce.live.id, later.live.id, done.id]).toEqual(Array(3).fill(first.live.id));
    const next = restart(engine, settings);
    expect(await outcome(next, 'x', fire)).toEqual(done);
    expect(agent.asked).toEqual(['x']);
    expect(next.list({}).totalSize).toBe(1);
  });

  it('is another task for another time, another caller, or a caller who uses a message id twice', async () => {
    const { engine } = start(echo);
    const { id } = await outcome(engine, 'x', fire);
    const others = [
      await outcome(engine, 'x', { ...fire, messageId: 'job@2026-03-02T12:00:00.000Z' }),
      await outcome(engine, 'x', { messageId: fire.messageId }),
      await outcome(engine, 'x', { messageId: fire.messageId }),
    ].map((task) => task.id);
    const message = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'x' }], ...fire };
    const principal = { kind: 'agent' as const, id: 'key:other', via: [] };
    const { live } = engine.start({ message, metadata: {}, principal, strict: false });
    expect(new Set([id, live.id, ...others]).size).toBe(5);
  });

  it('is told by whoever says that the message id is the key of the request', async () => {
    const { engine } = start(echo);
    const keyed = { messageId: 'turn-1', metadata: { idempotencyKey: 'turn-1' } };
    const { id } = await outcome(engine, 'x', keyed);
    expect((await outcome(engine, 'x', keyed)).id).toBe(id);
    const other = { messageId: 'turn-2', metadata: { idempotencyKey: 'turn-1' } };
    expect((await outcome(engine, 'x', other)).id).not.toBe(id);
  });

  it('is answered with the task that failed to whoever sent a key, so that nothing is done twice', async () => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    const keyed = { messageId: 'turn-1', metadata: { idempotencyKey: 'turn-1' } };
    const { live, stored } = send(engine, 'mail it', keyed);
    await stored;
    const next = restart(engine, settings);
    expect(await outcome(next, 'mail it', keyed)).toMatchObject({ id: live.id, state: 'failed' });
    expect(agent.asked).toEqual(['mail it']);
    expect(next.list({}).totalSize).toBe(1);
  });

  it('answers no second question, and starts nothing, where the key is that of an answer', async () => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    agent.step({ type: 'input-required', question: 'Which one?' });
    const { id: taskId } = await outcome(engine, 'order');
    const keyed = { messageId: 'turn-2', taskId, metadata: { idempotencyKey: 'turn-2' } };
    const { live, stored } = send(engine, 'the red one', keyed);
    await stored;
    const next = restart(engine, settings);
    expect(await outcome(next, 'the red one', keyed)).toMatchObject({ id: live.id, state: 'failed' });
    expect(agent.asked).toEqual(['order', 'the red one']);
    expect(next.list({}).totalSize).toBe(1);
  });

  it('is tried again when the task failed, as by a restart, or could not be written', async () => {
    const agent = new SteppedAgent();
    const { engine, settings, clock } = start(agent.script);
    const takeRows = refuseRows(settings.path, 'tasks');
    expect(await send(engine, 'full', fire).stored).toBe(false);
    takeRows();
    await clock.advanceBy(2000);
    const { live, stored } = send(engine, 'cut off', fire);
    await stored;
    const next = restart(engine, settings);
    expect(next.get(live.id).state).toBe('failed');
    agent.step({ type: 'completed', text: 'done' });
    const done = await outcome(next, 'whole', fire);
    expect(done.id).not.toBe(live.id);
    expect(agent.asked).toEqual(['cut off', 'whole']);
    expect((await outcome(next, 'again', fire)).id).toBe(done.id);
  });
});

describe('restart', () => {
  it('fails what was working and keeps what had ended [A111] [A132] [A177]', async () => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    agent.step({ type: 'completed', text: 'kept' });
    const finished = await outcome(engine, 'quick');
    const { live, stored } = send(engine, 'slow');
    await stored;
    const next = restart(engine, settings);
    expect(next.get(live.id)).toMatchObject({
      state: 'failed',
      statusMessage: { parts: [{ text: 'interrupted by server restart' }] },
    });
    expect(next.get(finished.id)).toEqual(finished);
  });

  it('lets a question be answered after the restart, or fails it to the letter of the contract [A111]', async () => {
    const script: AgentScript = async function* ({ resume, text }) {
      if (resume === undefined) yield { type: 'input-required', question: 'name?' };
      else yield { type: 'completed', text: `hello ${text}` };
    };
    const { engine, settings } = start(script);
    const [kept, lost] = [await outcome(engine, 'a'), await outcome(engine, 'b')];
    const next = restart(engine, settings);
    expect(next.get(kept.id).state).toBe('input-required');
    const done = await outcome(next, 'Ada', { taskId: kept.id });
    expect(done.artifacts[0]?.parts[0]).toMatchObject({ text: 'hello Ada' });
    const strict = restart(next, settings, { parkedTasks: 'fail' });
    expect(strict.get(lost.id).state).toBe('failed');
    expect(strict.get(kept.id).state).toBe('completed');
  });
});

describe('ids', () => {
  it('are never given twice, also when the clock was set back between two runs', async () => {
    const { engine, settings } = start(echo);
    const before = await Promise.all(['a', 'b', 'c'].map((text) => outcome(engine, text)));
    const next = restart(engine, settings, { clock: new FakeClock('2026-03-01T11:59:59Z') });
    const after = await Promise.all(['d', 'e', 'f'].map((text) => outcome(next, text)));
    for (const task of [...before, ...after]) expect(next.get(task.id)).toEqual(task);
    expect(next.list({}).totalSize).toBe(6);
  });

  it('lead to one task only: another end of the same id is unknown', async () => {
    const { engine, settings } = start(echo);
    const { id } = await outcome(engine, 'x');
    const next = restart(engine, settings);
    const other = `${id.slice(0, -12)}000000000000`;
    expect(() => next.get(other)).toThrow('Task not found');
    expect(next.get(id).id).toBe(id);
  });

  it('of a file that was made before rows were filed by them lead to their tasks and events', async () => {
    const { settings } = start(echo);
    const path = `${settings.path}.old`;
    const old = openDatabase(path, { migrations: migrations.slice(0, 1) });
    const id = '019c8b2f-7c00-7abc-8def-0123456789ab';
    const time = settings.clock.now();
    const task = {
      id,
      contextId: 'c',
      state: 'completed',
      createdAt: time,
      updatedAt: time,
      history: [],
      artifacts: [],
    };
    const event = { sequence: 1, event: { type: 'status', state: 'completed', at: time } };
    old
      .prepare('INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)')
      .run(id, 'c', 'completed', time, JSON.stringify(task), JSON.stringify([event]));
    old
      .prepare('INSERT INTO task_events VALUES (?, ?, ?)')
      .run(id, 2, JSON.stringify([{ ...event, sequence: 2 }]));
    old.close();
    const { engine } = start(echo, { path });
    expect(engine.get(id)).toEqual(task);
    expect(engine.eventsAfter(engine.find(id), 0).map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(engine.list({ contextId: 'c' }).tasks).toEqual([task]);
    // It had no owner yet, so it is everybody's.
    const anybody = engine.for({ kind: 'person', id: 'user:ava', via: [] });
    expect(anybody.list({}).tasks).toEqual([task]);
    expect(anybody.get(id)).toEqual(task);
  });
});

describe('an answer that comes again under its id', () => {
  it('answers no second question, at once, later and after a restart', async () => {
    const agent = new SteppedAgent();
    const { engine, settings } = start(agent.script);
    agent.step({ type: 'input-required', question: 'First?' });
    const { id: taskId, contextId } = await outcome(engine, 'x');
    const answer = (to: TaskEngine, requestId: string) => {
      const parts = [{ type: 'text' as const, text: 'yes' }];
      const message = { messageId: requestId, role: 'user' as const, parts, taskId, contextId };
      return to.start({ message, metadata: {}, principal: anonymous, strict: true, requestId });
    };
    const [first, atOnce] = [answer(engine, 'a'), answer(engine, 'a')];
    expect(await Promise.all([first.stored, atOnce.stored])).toEqual([true, true]);
    agent.step({ type: 'input-required', question: 'Second?' });
    await first.live.settled();
    expect(answer(engine, 'a').live.snapshot()).toMatchObject({ id: taskId, state: 'input-required' });
    const next = restart(engine, settings);
    expect(answer(next, 'a').live.state).toBe('input-required');
    expect(agent.asked).toEqual(['x', 'yes']);
    const last = answer(next, 'b');
    await last.stored;
    agent.step({ type: 'completed', text: 'done' });
    await last.live.settled();
    expect(answer(next, 'b').live.state).toBe('completed');
    expect(agent.asked).toEqual(['x', 'yes', 'yes']);
  });
});
