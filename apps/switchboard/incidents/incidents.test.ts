import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';

it('reports, lists and resolves incidents, in the file and on the bus [S138]', async () => {
  const board = await startSwitchboard({ files: { 'fleet.yaml': '' } });
  const seen = await observe(board);
  const report = (title: string) =>
    board.call('/api/incidents', { title, severity: 'high', affectedProjects: ['a'] });
  const made = await Promise.all(['One', 'Two', 'Three'].map(report));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(made.map(({ body }) => body.data.id)).toEqual(['INC-001', 'INC-002', 'INC-003']);
  expect((await seen.first('security.incident.reported')).payload).toMatchObject({
    id: 'INC-001',
    status: 'open',
  });
  const resolved = await board.call('/api/incidents/INC-002/resolve', { resolutionNote: 'restarted' });
  expect(resolved.body.data).toMatchObject({
    status: 'resolved',
    resolutionNote: 'restarted',
    resolvedAt: expect.any(String),
  });
  const statuses = async () =>
    (await board.call('/api/incidents')).body.data.map(({ status }: Json) => status);
  expect(await statuses()).toEqual(['open', 'resolved', 'open']);
  expect(readFileSync(join(board.workspace, 'incidents.yaml'), 'utf8')).toContain(
    'resolutionNote: restarted',
  );
  expect((await board.call('/api/incidents/INC-099/resolve', {})).status).toBe(404);
  expect((await board.call('/api/incidents', { title: 'x', severity: 'awful' })).status).toBe(400);
  board.write('incidents.yaml', 'incidents: []');
  await waitFor(async () => (await statuses()).length === 0);
  seen.close();
  await board.stop();
});
