import { anonymous } from '@trunkline/identity';
import { openDatabase } from '@trunkline/storage';
import { expect, test } from 'vitest';
import { JobStore } from '../store/jobs.ts';
import { migrations } from '../store/schema.ts';
import { followJob } from './engine.ts';

const ID = 'job';

/** A job with its store in memory. */
function openJob() {
  const database = openDatabase(':memory:', { migrations });
  const jobs = new JobStore(database);
  const options = { reviewPlan: false, budget: {}, domains: { allow: [], deny: [] }, sources: [] };
  jobs.create({
    id: ID,
    query: 'tides',
    sessionId: undefined,
    options,
    model: { name: 'm', demo: false },
    principal: anonymous,
  });
  return {
    jobs,
    note: (from: number, to: number) => {
      for (let at = from; at < to; at += 1) jobs.commit(ID, [{ type: 'note', data: at }]);
    },
    close: () =>
      jobs.commit(ID, [{ type: 'done' }], () => jobs.update(ID, { status: 'complete', closed: true })),
    [Symbol.dispose]: () => database.close(),
  };
}

test('a slow reader of a job gets every event once and in order, however many came meanwhile', async () => {
  using job = openJob();
  job.note(0, 3);
  const reader = followJob(job.jobs, ID, 0, new AbortController().signal);
  const first = await reader.next();
  expect(first.value?.event.type).toBe('scope_started');
  // More than wait for it in memory.
  job.note(3, 1300);
  const got: unknown[] = [];
  for (let count = 0; count < 1300; count += 1) got.push((await reader.next()).value?.event.data);
  // It has seen all and gets the next ones from memory.
  const next = reader.next();
  job.note(1300, 1303);
  got.push((await next).value?.event.data);
  job.close();
  const rest = await all(reader);
  expect([...got, ...rest.map(({ event }) => event.data)]).toEqual([
    ...Array.from({ length: 1303 }, (_, at) => at),
    undefined,
  ]);
  expect(rest.at(-1)?.event.type).toBe('done');
});

test('a reader that comes back goes on behind the event that it saw last', async () => {
  using job = openJob();
  job.note(0, 10);
  const seen = job.jobs.events(ID, 0)[5];
  job.close();
  const events = await all(followJob(job.jobs, ID, seen?.sequence ?? 0, new AbortController().signal));
  expect(events.map(({ event }) => event.data)).toEqual([5, 6, 7, 8, 9, undefined]);
});

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
