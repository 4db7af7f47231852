import { join } from 'node:path';
import { anonymous } from '@trunkline/identity';
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

const open = (id: string) =>
  store.open({
    messageId: `m-${id}`,
    correlationId: id,
    skill: 'work',
    request: 'Do it',
    owner: 'anonymous',
  });

it('removes what is a week old in small steps, and nothing that still moves', async () => {
  await store.together(() => {
    for (let index = 0; index < 450; index += 1) store.trace(open(`old-${index}`).id, 'request', {});
    open('moving');
  });
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
