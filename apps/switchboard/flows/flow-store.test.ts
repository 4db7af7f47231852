import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { anonymous } from '@trunkline/identity';
import type { Bindings } from '@trunkline/storage';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Crew, startCrew } from '../fixtures/crew.ts';
import { FlowStore } from './flow-store.ts';

describe('flow store', () => {
  const dayMs = 24 * 60 * 60 * 1000;
  let [directory, store] = [] as unknown as [TemporaryDirectory, FlowStore];
  let now = 0;

  beforeEach(() => {
    directory = temporaryDirectory();
    now = 0;
    store = new FlowStore(join(directory.path, 'flows.db'), () => now);
  });
  afterEach(() => {
    store.close();
    directory.remove();
  });

  const origin = (id: string) => ({
    messageId: `m-${id}`,
    correlationId: id,
    skill: 'work',
    request: 'Do it',
    owner: 'anonymous',
  });
  const open = (id: string) => store.open(origin(id));

  it('removes what is a week old in small steps, and nothing that still moves', () => {
    for (let index = 0; index < 450; index += 1) store.trace(open(`old-${index}`).id, 'request', {});
    open('moving');
    now = 5 * dayMs;
    store.block('skill-moving', true);
    now = 8 * dayMs;
    open('new');
    expect([store.sweep(), store.sweep(), store.sweep(), store.sweep()]).toEqual([true, true, false, false]);
    expect(store.list({ limit: 10, principal: anonymous }).map(({ id }) => id)).toEqual([
      'skill-new',
      'skill-moving',
    ]);
    expect(store.traceOf('skill-old-1')).toEqual([]);
  });

  it('lists by state', () => {
    for (const id of ['done', 'waits', 'runs']) {
      now += 1;
      open(id);
    }
    store.finish('skill-done', undefined);
    store.block('skill-waits', true);
    const listed = (status?: 'active' | 'blocked' | 'complete') =>
      store.list({ status, limit: 10, principal: anonymous }).map(({ id }) => id);
    expect(listed('active')).toEqual(['skill-runs']);
    expect(listed('blocked')).toEqual(['skill-waits']);
    expect(listed('complete')).toEqual(['skill-done']);
    expect(listed()).toEqual(['skill-runs', 'skill-waits', 'skill-done']);
  });

  it('lists what changed since a time: opened since then, or long before', () => {
    for (const [id, at] of [
      ['old', 1000],
      ['long', 2000],
      ['slow', 59_500],
      ['new', 70_000],
    ] as const) {
      now = at;
      open(id);
    }
    const listed = (since: number, more = {}) =>
      store.list({ since, limit: 10, principal: anonymous, ...more }).map(({ id }) => id);
    now = 60_000;
    store.finish('skill-slow', undefined);
    now = 80_000;
    store.finish('skill-long', undefined);
    expect(listed(60_000)).toEqual(['skill-new', 'skill-slow', 'skill-long']);
    expect(listed(70_001)).toEqual(['skill-long']);
    expect(listed(60_000, { limit: 2 })).toEqual(['skill-new', 'skill-slow']);
    expect(listed(60_000, { limit: 2, offset: 1 })).toEqual(['skill-slow', 'skill-long']);
    expect(listed(60_000, { limit: 2, offset: 3 })).toEqual([]);
    expect(listed(60_000, { status: 'active' })).toEqual(['skill-new']);
  });

  /** Notes how SQLite finds what is listed. */
  class PlannedStore extends FlowStore {
    readonly plans: string[][] = [];

    protected override all<Row>(sql: string, values: Bindings = []): Row[] {
      const steps = super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, values);
      this.plans.push(steps.map(({ detail }) => detail));
      return super.all<Row>(sql, values);
    }
  }

  /** Only what was opened before the time is sorted: work that ran then, however many flows there are. */
  const sorted = 'USE TEMP B-TREE FOR ORDER BY';

  it.each([
    [
      'the operator',
      { kind: 'operator', id: 'operator', via: [] } as const,
      'flows_by_time',
      'flows_long',
      1,
    ],
    ['a person', { kind: 'person', id: 'ada', via: [] } as const, 'flows_by_owner', 'flows_long_by_owner', 2],
  ])('finds what changed since a time by index for %s', (_, principal, recent, long, owners) => {
    const planned = new PlannedStore(join(directory.path, 'planned.db'), () => now);
    planned.list({ since: 60_000, limit: 10, principal });
    const owner = principal.kind === 'operator' ? '' : 'owner=? AND ';
    expect(planned.plans).toEqual(
      Array.from({ length: owners }, () => [
        [`SEARCH flows USING INDEX ${recent} (${owner}createdAt>?)`],
        [`SEARCH flows USING INDEX ${long} (${owner}updatedAt>?)`, sorted],
      ]).flat(),
    );
    planned.plans.length = 0;
    planned.list({ limit: 10, principal });
    expect(planned.plans.flat()).not.toContain(sorted);
    planned.close();
  });

  it('shows and stores a flow that has not ended, and knows its message again', () => {
    const { id } = open('one');
    store.trace(id, 'request', { skill: 'work' });
    expect(open('one').id).toBe(id);
    expect(store.open({ ...origin('two'), correlationId: 'one' }).id).toBe('skill-one-m-two');
    expect(store.get(id)).toMatchObject({ status: 'active', stage: 'dispatched', requestPreview: 'Do it' });
    store.start(id, 'in-process', 'worker');
    store.trace(id, 'start', null);
    open('three');
    store.close();
    store = new FlowStore(join(directory.path, 'flows.db'), () => now);
    expect(store.get(id)).toMatchObject({ stage: 'running', targetAgent: 'worker' });
    expect(store.traceOf(id).map(({ event }) => event)).toEqual(['request', 'start']);
    expect(store.ownerOfRequest('one')).toBe('anonymous');
    open('four');
    expect(store.list({ limit: 10, principal: anonymous }).map((flow) => flow.id)).toEqual([
      'skill-four',
      'skill-three',
      'skill-one-m-two',
      'skill-one',
    ]);
  });

  /** Until the returned function is called, storing what the condition names undoes the transaction, as a full disk does. */
  function failOn(condition: string) {
    const database = new DatabaseSync(join(directory.path, 'flows.db'));
    database.exec(
      `CREATE TRIGGER full BEFORE INSERT ON flows WHEN ${condition} BEGIN SELECT RAISE(ROLLBACK, 'no room'); END`,
    );
    return () => {
      database.exec('DROP TRIGGER full');
      database.close();
    };
  }

  it('keeps every flow when writing them fails midway', () => {
    for (const id of ['one', 'two', 'three']) store.trace(open(id).id, 'request', {});
    const repair = failOn("new.id = 'skill-two'");
    expect(() => store.get('skill-one')).toThrow('no room');
    repair();
    store.trace('skill-one', 'end', {});
    expect(store.list({ limit: 10, principal: anonymous })).toHaveLength(3);
    expect(store.traceOf('skill-one').map(({ event }) => event)).toEqual(['request', 'end']);
  });

  it('keeps the end of a flow that could not be written, for its redelivered message', async () => {
    const end = (id: string) => store.end(open(id).id, undefined, { id });
    const repair = failOn(`new.trace LIKE '%bad%'`);
    const ends = await Promise.allSettled(['good', 'bad'].map(end));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    repair();
    for (const id of ['good', 'bad']) {
      expect(open(id).status).toBe('complete');
      expect(store.get(`skill-${id}`)?.status).toBe('complete');
      expect(store.traceOf(`skill-${id}`).map(({ event }) => event)).toEqual(['end']);
    }
  });
});

describe('replay', () => {
  let crew: Crew;
  beforeAll(async () => {
    crew = await startCrew();
  });
  afterAll(() => crew.stop());

  it('asks once more what a flow asked, as a flow of its own, with the same way back', async () => {
    const { board, seen, publish } = crew;
    const id = await publish('message.inbound.cli', { content: 'say it twice' });
    await seen.first('flow.item.completed', id);
    const { status, body } = await board.call(`/api/flows/skill-${id}/replay`, {});
    expect(status).toBe(202);
    const { correlationId } = body.data;
    expect((await seen.first('message.outbound.cli', correlationId)).payload.content).toBe(
      'model-of-helm heard you',
    );
    await seen.first('flow.item.completed', correlationId);
    const { body: one } = await board.call(`/api/flows/${body.data.id}`);
    expect(one.data).toMatchObject({ stage: 'done', skill: 'chat', correlationId });
    expect(one.data.trace[0].details.routing.why).toEqual(expect.any(String));
    expect(one.data.trace.at(-1).details.usage.totalTokens).toEqual(expect.any(Number));
    expect((await board.call('/api/flows/skill-none/replay', {})).status).toBe(404);
  });

  it('does the work of a flow again from a step on: what was done before it stays done', async () => {
    const { board, model, seen, publish } = crew;
    const noted = () => seen.messages.map(({ topic }) => topic).filter((topic) => topic.startsWith('note.'));
    const note = (id: string, topic: string) => ({
      toolCalls: [{ id, name: 'publish_event', arguments: { topic, payload: {} } }],
    });
    // The first note, the second, and then the model fails.
    const broken = { fault: 'status', status: 400, message: 'nonsense' } as const;
    model.enqueue(note('call-1', 'note.one'), note('call-2', 'note.two'), broken);
    const id = await publish('message.inbound.cli', { content: 'note it, twice' });
    await seen.first('flow.item.completed', id);
    const flow = `/api/flows/skill-${id}`;
    expect((await board.call(flow)).body.data).toMatchObject({ stage: 'error', targetAgent: 'helm' });
    expect(noted()).toEqual(['note.one', 'note.two']);
    const before = model.chats().length;
    model.enqueue('Noted.');
    const { status, body } = await board.call(`${flow}/retry`, { toolCallId: 'call-2' });
    expect(status).toBe(202);
    const { correlationId } = body.data;
    // It was done once already, so a person decides.
    const { payload: asked } = await seen.first('agent.input.request.', correlationId);
    expect(asked.question).toContain('publish_event ran before');
    await board.call('/api/a2a/input', { requestId: asked.requestId, answer: 'yes' });
    const answer = await seen.first('message.outbound.cli', correlationId);
    expect(answer.payload.content).toContain('Noted.');
    expect(noted()).toEqual(['note.one', 'note.two', 'note.two']);
    expect(model.chats().length - before).toBe(1);
    expect(
      model
        .chats()
        .at(-1)
        ?.messages.filter(({ role }) => role === 'tool'),
    ).toHaveLength(2);
    await seen.first('flow.item.completed', correlationId);
    // The audit says who did it.
    const audit = JSON.stringify((await board.call('/operator/audit')).body);
    expect(audit).toContain(`retried flow skill-${id} from call-2`);
    // The new flow can be done again from a step too, also one that the first had done.
    model.enqueue('Once more.');
    const again = await board.call(`/api/flows/${body.data.id}/retry`, { toolCallId: 'call-1' });
    expect(again.status).toBe(202);
    const question = await seen.first('agent.input.request.', again.body.data.correlationId);
    await board.call('/api/a2a/input', { requestId: question.payload.requestId, answer: 'no' });
    await seen.first('flow.item.completed', again.body.data.correlationId);
    expect(noted()).toHaveLength(3);
    const unknown = await board.call(`${flow}/retry`, { toolCallId: 'call-9' });
    expect([unknown.status, unknown.body.error]).toEqual([
      409,
      expect.stringContaining('replay the whole flow'),
    ]);
    expect((await board.call('/api/flows/skill-none/retry', { toolCallId: 'x' })).status).toBe(404);
  });

  it('gives out flows page by page', async () => {
    const { board } = crew;
    const ids = (flows: { id: string }[]) => flows.map(({ id }) => id);
    const all = ids((await board.call('/api/flows')).body.flows);
    const second = ids((await board.call('/api/flows?limit=1&offset=1')).body.flows);
    expect(second).toEqual(all.slice(1, 2));
  });
});
