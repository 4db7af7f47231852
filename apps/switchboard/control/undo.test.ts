import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { lineDiff } from '../routes/changes.ts';

let board: TestSwitchboard;
let seen: Observer;
beforeAll(async () => {
  board = await startSwitchboard();
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
});

const cook = { name: 'cook', role: 'general', systemPrompt: 'Cook.', skills: [{ name: 'cook' }] };
const file = () => join(board.workspace, 'agents/cook.yaml');
const newest = async (): Promise<Json> => (await board.call('/api/changes?limit=1')).body.data[0];
const undo = (id: number, body: Json = {}) => board.call(`/api/changes/${id}/undo`, body);

it('shows the difference of each change, and takes changes back one by one [S006]', async () => {
  await board.call('/api/agents', cook);
  const added = await newest();
  expect(added).toMatchObject({ by: 'operator', file: 'agents/cook.yaml', before: null, undoes: null });
  expect(added.diff).toContain('+systemPrompt: Cook.');
  const body = JSON.stringify({ ...cook, systemPrompt: 'Bake.' });
  await board.fetch('/api/agents/cook', { method: 'PUT', body });
  const changed = await newest();
  const marked = changed.diff.split('\n').filter((line: string) => !line.startsWith(' '));
  expect(marked).toEqual(['-systemPrompt: Cook.', '+systemPrompt: Bake.']);
  expect((await undo(added.id)).status).toBe(409);
  const back = await undo(changed.id, { reason: 'burnt' });
  expect(back.body.data).toMatchObject({ undoes: changed.id, reason: 'burnt', topic: 'command.change.undo' });
  expect(readFileSync(file(), 'utf8')).toContain('Cook.');
  expect((await undo(back.body.data.id)).status).toBe(200);
  expect(readFileSync(file(), 'utf8')).toContain('Bake.');
  const { id } = await newest();
  expect((await board.fetch(`/api/changes/${id}/undo`, { method: 'POST' })).status).toBe(200);
  expect((await undo(added.id)).status).toBe(200);
  expect(existsSync(file())).toBe(false);
  expect((await undo(9999)).status).toBe(404);
  expect((await board.call('/api/changes/none')).status).toBe(404);
  const ofFile = await board.call('/api/changes?file=agents/cook.yaml');
  expect(ofFile.body.data).toHaveLength(6);
});

it('brings back a file that was removed, with its comments', async () => {
  const yaml = '# the night watch\nname: owl\nrole: general\nsystemPrompt: Watch.\n';
  await board.call('/publish', { topic: 'command.agent.upsert', payload: { name: 'owl', yaml } });
  const remove = async () => (await board.fetch('/api/agents/owl', { method: 'DELETE' })).status;
  await waitFor(async () => (await remove()) === 200);
  expect((await undo((await newest()).id)).status).toBe(200);
  expect(readFileSync(join(board.workspace, 'agents/owl.yaml'), 'utf8')).toBe(yaml);
});

it('writes incidents by the same door, so that they too can be taken back', async () => {
  await board.call('/api/incidents', { title: 'Leak', severity: 'high' });
  const change = await newest();
  expect(change).toMatchObject({ file: 'incidents.yaml', by: 'operator', reason: 'INC-001 was reported' });
  expect(change.diff).toContain('+    title: Leak');
  expect((await undo(change.id)).status).toBe(200);
  expect(readFileSync(join(board.workspace, 'incidents.yaml'), 'utf8')).toBe('incidents: []\n');
});

it('refuses to undo what is no change, over the bus too', async () => {
  const payload = { id: 'x' };
  await board.call('/publish', { topic: 'command.change.undo', payload, correlationId: 'undo-1' });
  const { payload: told } = await seen.first('system.error', 'undo-1');
  expect(told.error).toContain('no change');
});

describe('a difference', () => {
  it.each([
    [null, 'a\nb\n', '+a\n+b'],
    ['a\nb\n', null, '-a\n-b'],
    ['a\nb\nc\n', 'a\nx\nc\n', ' a\n-b\n+x\n c'],
    ['a\nb\nc\nd', 'b\nd\ne', '-a\n b\n-c\n d\n+e'],
    ['same', 'same', ' same'],
    ['a\na\n', 'a\n', ' a\n-a'],
    ['', '', ''],
  ])('between %j and %j', (before, after, expected) => {
    expect(lineDiff(before, after)).toBe(expected);
  });

  it('leads from one text to the other, however long they are', () => {
    const lines = (step: number) => Array.from({ length: 3000 }, (_, index) => `line ${index * step}`);
    for (const [before, after] of [
      [lines(1), lines(2)],
      [lines(3).slice(0, 400), lines(2).slice(0, 300)],
    ] as [string[], string[]][]) {
      const diff = lineDiff(before.join('\n'), after.join('\n')).split('\n');
      const side = (sign: string) =>
        diff.filter((line) => line.startsWith(' ') || line.startsWith(sign)).map((line) => line.slice(1));
      expect(side('-')).toEqual(before);
      expect(side('+')).toEqual(after);
    }
  });
});
