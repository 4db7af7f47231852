import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { lineDiff } from '../routes/changes.ts';

describe('control', () => {
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
});

describe('undo', () => {
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
    expect(back.body.data).toMatchObject({
      undoes: changed.id,
      reason: 'burnt',
      topic: 'command.change.undo',
    });
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
});

describe('files', () => {
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
    expect(await send(file, 'PUT', { values: { skills: [{ name: 'hear' }] } })).not.toHaveProperty(
      'warnings',
    );
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
});
