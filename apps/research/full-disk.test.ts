import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DIMENSIONS, type Lab, startLab } from './fixtures/lab.ts';

let lab: Lab;
let drafts = 0;

beforeAll(async () => {
  lab = await startLab(undefined, (asked) => {
    if (asked !== 'section') return undefined;
    drafts += 1;
    return drafts <= DIMENSIONS.length ? { fault: 'stall' } : undefined;
  });
});
afterAll(() => lab.stop());

it('a job that cannot be stored for a while ends neither the service nor itself', async () => {
  const id = await lab.client.startJob({ query: 'tidal power' });
  await waitFor(() => drafts === DIMENSIONS.length);
  const database = new DatabaseSync(join(lab.home, 'research/research.db'));
  database.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
  );
  lab.model.release();
  // Drafts that were lost are asked for again only when the job goes on.
  await waitFor(() => drafts > DIMENSIONS.length, { timeoutMs: 15_000 });
  expect(await lab.client.status(id)).toMatchObject({ status: 'running' });
  database.exec('DROP TRIGGER full');
  database.close();
  const events = await lab.client.events(id);
  expect(events.filter(({ type }) => type === 'done')).toHaveLength(1);
  expect(await lab.client.status(id)).toMatchObject({ status: 'complete' });
});
