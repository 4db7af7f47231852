import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

let board: TestSwitchboard;
beforeAll(async () => {
  board = await startSwitchboard();
});
afterAll(() => board.stop());

const put = async (path: string, text: string) => {
  const answer = await board.fetch(path, { method: 'PUT', body: JSON.stringify({ text }) });
  return { status: answer.status, body: await answer.json() };
};

it('gives out the text of a file and takes a new one, with its comments', async () => {
  const path = '/api/workspace/files/agent/warden';
  const { body } = await board.call(path);
  expect(body.data.text).toContain('# Knows the incidents');
  const text = body.data.text.replace('You look after incidents.', 'You guard the bridge.');
  const { status, body: answer } = await put(path, text);
  expect([status, answer.data.name]).toEqual([200, 'warden']);
  const written = readFileSync(join(board.workspace, 'agents/warden.yaml'), 'utf8');
  expect(written).toBe(text);
  const undone = await board.call(`/api/changes/${answer.data.changeId}/undo`, {});
  expect(undone.body.data.diff).toContain('+  You look after incidents.');
});

it('changes values as a form gives them, and leaves comments and the rest as they are', async () => {
  const path = '/api/workspace/files/agent/warden';
  const change = async (body: object) =>
    (await board.fetch(path, { method: 'PUT', body: JSON.stringify(body) })).status;
  const before = (await board.call(path)).body.data;
  expect(await change({ values: { ...before.values, model: 'small' } })).toBe(200);
  const after = (await board.call(path)).body.data;
  expect(after.values).toEqual({ ...before.values, model: 'small' });
  expect(after.text.replace('model: small\n', '')).toBe(before.text);
  expect(await change({ values: { model: null } })).toBe(200);
  expect((await board.call(path)).body.data.text).toBe(before.text);
  expect([await change({ values: { role: 'chef' } }), await change({})]).toEqual([400, 400]);
});

it('warns of an agent that has no skill, however it is saved', async () => {
  const mute = { name: 'mute', role: 'general', systemPrompt: 'Listen.' };
  const warnings = ['mute has no skill, so no route reaches it. Add one under skills.'];
  const send = async (path: string, method: string, body: object) =>
    (await (await board.fetch(path, { method, body: JSON.stringify(body) })).json()).data;
  expect(await send('/api/agents', 'POST', mute)).toEqual({ name: 'mute', warnings });
  expect(await send('/api/agents/mute', 'PUT', mute)).toEqual({ name: 'mute', warnings });
  const file = '/api/workspace/files/agent/mute';
  expect(await send(file, 'PUT', { values: { role: 'qa' } })).toMatchObject({ warnings });
  expect(await send(file, 'PUT', { values: { skills: [{ name: 'hear' }] } })).not.toHaveProperty('warnings');
  await board.fetch('/api/agents/mute', { method: 'DELETE' });
});

it.each([
  ['broken YAML', 'name: [\n'],
  ['two documents', 'name: odd\n---\nname: odd\n'],
  ['a list', '- name: odd\n'],
  ['an anchor that is used elsewhere', 'name: odd\nmodel: &m small\nrole: *m\n'],
  ['nothing', ''],
])('refuses values for a file with %s, and says what to do', async (_, text) => {
  const file = join(board.workspace, 'agents/odd.yaml');
  writeFileSync(file, text);
  const path = '/api/workspace/files/agent/odd';
  const body = JSON.stringify({ values: { model: null } });
  const answer = await board.fetch(path, { method: 'PUT', body });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(text === '' ? /odd/ : /file of odd \(.+\)\. Edit it as YAML\./);
  expect(readFileSync(file, 'utf8')).toBe(text);
  rmSync(file);
});

it('names what is wrong by its line, and writes nothing that is wrong', async () => {
  const path = '/api/workspace/files/agent/cook';
  const check = async (text: string) => (await board.call(`${path}/check`, { text })).body.data.problems;
  const good = 'name: cook\nrole: general\nsystemPrompt: Cook.\n';
  expect(await check(good)).toEqual([]);
  expect(await check(good.replace('general', 'chef'))).toMatchObject([{ line: 2 }]);
  expect(await check(`${good}tools: [\n`)).not.toEqual([]);
  expect(await check(good.replace('cook', 'baker'))).toEqual([
    { line: 1, message: 'agents/cook.yaml: its name must be cook.' },
  ]);
  expect((await put(path, 'role: chef\n')).status).toBe(400);
  expect((await board.call(path)).status).toBe(404);
  expect((await board.call('/api/workspace/files/agent/..%2Fkeys')).status).toBe(400);
  expect((await board.call('/api/workspace/files/keys/keys')).status).toBe(400);
});

it('gives out changes page by page', async () => {
  const [newest, next] = (await board.call('/api/changes?limit=2')).body.data;
  const { body } = await board.call(`/api/changes?limit=1&before=${newest.id}`);
  expect(body.data[0].id).toBe(next.id);
});
