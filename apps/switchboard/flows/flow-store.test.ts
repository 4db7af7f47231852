import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { anonymous } from '@trunkline/identity';
import type { Bindings } from '@trunkline/storage';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FlowStore } from './flow-store.ts';

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
  ['the operator', { kind: 'operator', id: 'operator', via: [] } as const, 'flows_by_time', 'flows_long', 1],
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
