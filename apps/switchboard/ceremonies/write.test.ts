import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

let board: TestSwitchboard;
beforeAll(async () => {
  board = await startSwitchboard();
});
afterAll(() => board.stop());

const retro = { id: 'retro', name: 'Retrospective', schedule: '0 15 * * 5', skill: 'chat' };
const send = async (method: string, path: string, body?: Json) => {
  const response = await board.fetch(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, body: (await response.json()) as Json };
};
const listed = async (): Promise<Json[]> => (await board.call('/api/ceremonies')).body.data;
const file = () => join(board.workspace, 'ceremonies/retro.yaml');

it('is added, replaced and removed by commands that are on record, and its removal is taken back', async () => {
  expect(await send('POST', '/api/ceremonies', retro)).toMatchObject({
    status: 201,
    body: { data: { name: 'retro' } },
  });
  expect(await board.call('/api/ceremonies/retro')).toMatchObject({
    status: 200,
    body: { data: { runs: [] } },
  });
  expect((await board.call('/api/ceremonies/none')).status).toBe(404);
  expect((await board.call('/api/ceremonies/..%2Fkeys')).status).toBe(404);
  await waitFor(async () => (await listed())[0]?.nextRun !== undefined);
  expect((await send('POST', '/api/ceremonies', retro)).status).toBe(409);
  expect((await send('PUT', '/api/ceremonies/retro', { ...retro, targets: ['helm'] })).status).toBe(200);
  await waitFor(async () => (await listed())[0]?.targets[0] === 'helm');
  expect((await send('DELETE', '/api/ceremonies/retro')).status).toBe(200);
  expect(existsSync(file())).toBe(false);
  expect((await send('DELETE', '/api/ceremonies/retro')).status).toBe(404);
  await waitFor(async () => (await listed()).length === 0);
  const { data } = (await board.call('/api/changes?kind=ceremony&name=retro')).body;
  expect(data.map(({ topic }: Json) => topic)).toEqual([
    'command.ceremony.remove',
    'command.ceremony.upsert',
    'command.ceremony.upsert',
  ]);
  expect((await board.call(`/api/changes/${data[0].id}/undo`, {})).status).toBe(200);
  await waitFor(async () => (await listed())[0]?.id === 'retro');
});

it.each([
  [{ ...retro, id: '../evil' }, 'id'],
  [{ ...retro, id: 'late', schedule: 'soon' }, 'schedule'],
  [{ ...retro, id: 'late', schedule: '0 0 15 * * 5' }, 'has 6 fields'],
  [{ ...retro, id: 'late', skil: 'chat' }, 'skil'],
])('is refused in words: %j', async (entry, words) => {
  const { status, body } = await send('POST', '/api/ceremonies', entry);
  expect([status, body.error]).toEqual([400, expect.stringContaining(words)]);
});

it('is read, checked line by line and replaced as text', async () => {
  const path = '/api/workspace/files/ceremony/retro';
  const { text } = (await board.call(path)).body.data;
  const check = async (given: string) =>
    (await board.call(`${path}/check`, { text: given })).body.data.problems;
  expect(await check(text)).toEqual([]);
  expect(await check(text.replace('0 15 * * 5', 'soon'))).toMatchObject([{ line: 3 }]);
  expect(await check(text.replace('id: retro', 'id: other'))).toMatchObject([
    { message: 'ceremonies/retro.yaml: its id must be retro.' },
  ]);
  const put = await send('PUT', path, { text: `# Fridays\n${text}` });
  expect(put.status).toBe(200);
  expect(readFileSync(file(), 'utf8')).toContain('# Fridays');
});
