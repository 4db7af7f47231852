import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

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

const listed = async (path: string) => (await board.call(path)).body.data.map(({ name }: Json) => name);
const send = async (method: string, path: string, body?: Json) => {
  const response = await board.fetch(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, body: (await response.json()) as Json };
};

const cases = [
  {
    path: '/api/agents',
    topic: 'command.agent',
    file: 'agents/cook.yaml',
    entry: { name: 'cook', role: 'general', systemPrompt: 'Cook.', skills: [{ name: 'cook' }] },
    bad: { role: 'king' },
    shownAt: '/api/agents',
  },
  {
    path: '/api/external-agents',
    topic: 'command.a2a',
    file: 'agents.d/peer.yaml',
    entry: { name: 'peer', url: 'http://127.0.0.1:9/a2a', skills: ['far'] },
    bad: { url: 'nowhere' },
    shownAt: '/api/agents',
  },
  {
    path: '/api/routes',
    topic: 'command.route',
    file: 'routes.d/bell.yaml',
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
    entry: { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } },
    bad: { when: { topic: '#' } },
    shownAt: '/api/routes',
  },
];

describe.each(cases)('$path, right after a change', ({ path, entry }) => {
  it('knows what was just written, and what was just removed', async () => {
    const name = `${entry.name}-now`;
    for (const round of [1, 2]) {
      expect([round, (await send('POST', path, { ...entry, name })).status]).toEqual([round, 201]);
      expect((await send('POST', path, { ...entry, name })).status).toBe(409);
      expect((await send('DELETE', `${path}/${name}`)).status).toBe(200);
      expect((await send('DELETE', `${path}/${name}`)).status).toBe(404);
    }
    expect((await send('DELETE', `${path}/..%2Fevil`)).status).toBe(404);
  });
});

it('says of an agent of agents.yaml where it is to be removed', async () => {
  board.write('agents.yaml', 'agents:\n  - name: listed\n    url: http://127.0.0.1:9/a2a\n');
  await waitFor(async () => (await listed('/api/agents')).includes('listed'));
  const { status, body } = await send('DELETE', '/api/external-agents/listed');
  expect([status, body.error]).toEqual([409, expect.stringContaining('agents.yaml; remove it there')]);
  expect(await listed('/api/agents')).toContain('listed');
});

describe.each(cases)('$path [S130] [S131] [S133]', ({ path, topic, file, entry, bad, shownAt }) => {
  it('adds, replaces and removes an entry by commands that are on record', async () => {
    expect(await send('POST', path, entry)).toMatchObject({
      status: 201,
      body: { data: { name: entry.name } },
    });
    expect(existsSync(join(board.workspace, file))).toBe(true);
    await waitFor(async () => (await listed(shownAt)).includes(entry.name));
    expect((await send('POST', path, entry)).status).toBe(409);
    expect((await send('PUT', `${path}/${entry.name}`, { ...entry, ...bad })).status).toBe(400);
    expect((await send('PUT', `${path}/${entry.name}`, entry)).status).toBe(200);
    expect((await send('DELETE', `${path}/${entry.name}`)).status).toBe(200);
    expect(existsSync(join(board.workspace, file))).toBe(false);
    await waitFor(async () => !(await listed(shownAt)).includes(entry.name));
    expect((await send('DELETE', `${path}/${entry.name}`)).status).toBe(404);
    const { body } = await board.call('/api/changes?limit=3');
    expect(body.data.map(({ topic: of }: Json) => of)).toEqual([
      `${topic}.remove`,
      `${topic}.upsert`,
      `${topic}.upsert`,
    ]);
    expect(body.data[0]).toMatchObject({
      by: 'operator',
      file,
      after: null,
      before: expect.stringContaining(entry.name),
    });
    const history = await board.call(`/api/bus/history?topic=${topic}.*`);
    expect(history.body.data.count).toBeGreaterThanOrEqual(3);
  });

  it.each(['../evil', 'a/b', '..', '.hidden', 'a.b', '', 'x\u0000y', `${'x'.repeat(65)}`])(
    'refuses the name %j and writes nothing',
    async (name) => {
      const before = readdirSync(board.workspace, { recursive: true }).sort();
      expect((await send('POST', path, { ...entry, name })).status).toBe(400);
      const payload = { name, file: `${name}.yaml`, yaml: JSON.stringify({ ...entry, name }) };
      const correlationId = crypto.randomUUID();
      await board.call('/publish', { topic: `${topic}.upsert`, payload, correlationId });
      const refused = await seen.first('system.error', correlationId);
      expect(refused.payload).toMatchObject({
        plugin: 'registrar',
        error: expect.stringContaining('refused'),
      });
      expect(refused.principal).toMatchObject({ via: ['switchboard'] });
      expect(readdirSync(board.workspace, { recursive: true }).sort()).toEqual(before);
    },
  );
});

it('refuses a text that names another, is broken, or is no command', async () => {
  const refused = async (topic: string, payload: Json) => {
    const correlationId = crypto.randomUUID();
    await board.call('/publish', { topic, payload, correlationId });
    return (await seen.first('system.error', correlationId)).payload.error;
  };
  const yaml = 'name: other\nrole: general\nsystemPrompt: x';
  expect(await refused('command.agent.upsert', { name: 'one', yaml })).toContain('must be one');
  expect(await refused('command.agent.upsert', { name: 'one', yaml: 'name: [' })).toContain(
    'agents/one.yaml:1:',
  );
  expect(await refused('command.agent.paint', { name: 'one', yaml })).toContain('upsert or remove');
  expect(existsSync(join(board.workspace, 'agents/one.yaml'))).toBe(false);
});
