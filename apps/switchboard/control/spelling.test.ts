import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const kinds = [
  {
    path: '/api/agents',
    shownAt: '/api/agents',
    folder: 'agents',
    entry: { name: 'cook', role: 'general', systemPrompt: 'Cook.', skills: [{ name: 'cook' }] },
  },
  {
    path: '/api/external-agents',
    shownAt: '/api/agents',
    folder: 'agents.d',
    entry: { name: 'peer', url: 'http://127.0.0.1:9/a2a', skills: ['far'] },
  },
  {
    path: '/api/routes',
    shownAt: '/api/routes',
    folder: 'routes.d',
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
    entry: { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } },
  },
  {
    path: '/api/mcp-servers',
    shownAt: '/api/mcp-servers',
    folder: 'mcp-servers.d',
    entry: { name: 'files', trust: 'community', transport: 'stdio', command: 'node' },
  },
];

let board: TestSwitchboard;
beforeAll(async () => {
  const files = kinds.map(({ folder, entry }) => [`${folder}/${entry.name}.yml`, textOf(entry)]);
  board = await startSwitchboard({ files: Object.fromEntries(files) });
});
afterAll(() => board.stop());

const textOf = (entry: object) => `# by hand\n${JSON.stringify(entry)}\n`;
const listed = async (path: string) => (await board.call(path)).body.data.map(({ name }: Json) => name);
const send = async (method: string, path: string, body?: Json) => {
  const response = await board.fetch(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, body: (await response.json()) as Json };
};
const problems = async () => (await board.call('/api/workspace')).body.data.problems;

describe.each(kinds)('an entry of $folder whose file ends in .yml', ({ path, shownAt, folder, entry }) => {
  const { name } = entry;
  const place = (file: string) => join(board.workspace, folder, file);
  const filesOf = () => readdirSync(join(board.workspace, folder)).filter((file) => file.startsWith(name));

  it('is known, replaced where it stands, removed and brought back', async () => {
    await waitFor(async () => (await listed(shownAt)).includes(name));
    expect((await send('POST', path, entry)).status).toBe(409);
    expect((await send('PUT', `${path}/${name}`, entry)).status).toBe(200);
    expect(filesOf()).toEqual([`${name}.yml`]);
    expect((await send('DELETE', `${path}/${name}`)).status).toBe(200);
    expect(filesOf()).toEqual([]);
    await waitFor(async () => !(await listed(shownAt)).includes(name));
    expect((await send('DELETE', `${path}/${name}`)).status).toBe(404);
    const [removal] = (await board.call(`/api/changes?limit=1&name=${name}`)).body.data;
    expect([removal.file, removal.after]).toEqual([`${folder}/${name}.yml`, null]);
    expect((await board.call(`/api/changes/${removal.id}/undo`, {})).status).toBe(200);
    expect(filesOf()).toEqual([`${name}.yml`]);
    await waitFor(async () => (await listed(shownAt)).includes(name));
  });

  it('is changed in neither of two files that hold it, and the second is told of', async () => {
    board.write(`${folder}/${name}.yaml`, textOf(entry));
    const told = async () => (await problems()).find(({ file }: Json) => file === place(`${name}.yml`));
    await waitFor(async () => (await told()) !== undefined);
    expect((await told()).error).toContain(`${name}.yaml holds the same entry; remove one`);
    expect((await listed(shownAt)).filter((one: string) => one === name)).toHaveLength(1);
    const put = await send('PUT', `${path}/${name}`, entry);
    const removed = await send('DELETE', `${path}/${name}`);
    expect([put.status, removed.status]).toEqual([409, 409]);
    expect(removed.body.error).toContain('remove one of them');
    rmSync(place(`${name}.yml`));
    await waitFor(async () => (await told()) === undefined);
    expect((await send('DELETE', `${path}/${name}`)).status).toBe(200);
    expect(filesOf()).toEqual([]);
  });
});

it('takes back the removal of an entry only while none of that name stands in either spelling', async () => {
  const text = 'name: owl\nrole: general\nsystemPrompt: Watch.\n';
  board.write('agents/owl.yml', text);
  expect((await send('DELETE', '/api/agents/owl')).status).toBe(200);
  const [removal] = (await board.call('/api/changes?limit=1&kind=agent&name=owl')).body.data;
  board.write('agents/owl.yaml', text);
  expect((await board.call(`/api/changes/${removal.id}/undo`, {})).status).toBe(409);
  expect(existsSync(join(board.workspace, 'agents/owl.yml'))).toBe(false);
});

it('reads the text of such a file, and switches such a server on', async () => {
  board.write('routes.d/gong.yml', '# loud\nname: gong\nwhen: { topic: gong.rang }\nthen: { skill: chat }\n');
  const file = '/api/workspace/files/route/gong';
  const { text } = (await board.call(file)).body.data;
  expect((await send('PUT', file, { text: text.replace('loud', 'soft') })).status).toBe(200);
  expect(readFileSync(join(board.workspace, 'routes.d/gong.yml'), 'utf8')).toContain('# soft');
  board.write(
    'mcp-servers.d/far.yml',
    'name: far # there\ntrust: community\ntransport: stdio\ncommand: "true"\n',
  );
  await waitFor(async () => (await listed('/api/mcp-servers')).includes('far'));
  expect((await send('POST', '/api/mcp-servers/far/enabled', { enabled: false })).status).toBe(200);
  expect(readFileSync(join(board.workspace, 'mcp-servers.d/far.yml'), 'utf8')).toMatch(
    /# there[\s\S]*enabled: false/,
  );
});

it('reads and writes single files in the same spelling', async () => {
  rmSync(join(board.workspace, 'fleet.yaml'), { force: true });
  board.write('fleet.yml', 'roles: { helm: owl }');
  const helm = async () => (await board.call('/api/workspace')).body.data.fleet.roles.helm;
  await waitFor(async () => (await helm()) === 'owl');
  board.write('fleet.yaml', 'roles: { helm: cook }');
  await waitFor(async () => (await helm()) === 'cook');
  const second = join(board.workspace, 'fleet.yml');
  expect((await problems()).find(({ file }: Json) => file === second)?.error).toContain('remove one');
  rmSync(join(board.workspace, 'fleet.yaml'));
  await waitFor(async () => (await helm()) === 'owl');
  expect(await problems()).toEqual([]);
  rmSync(join(board.workspace, 'incidents.yaml'), { force: true });
  board.write('incidents.yml', 'incidents: []');
  await board.call('/api/incidents', { title: 'Leak', severity: 'low' });
  expect(existsSync(join(board.workspace, 'incidents.yaml'))).toBe(false);
  await waitFor(async () => (await board.call('/api/incidents')).body.data.length === 1);
});

it('keeps a schedule in the file that it has', async () => {
  const place = join(board.workspace, 'crons');
  const list = async () => (await board.call('/api/schedules')).body.data.schedules;
  board.write(
    'crons/tick.yml',
    'id: tick # mine\nschedule: "0 9 * * *"\ntopic: cron.tick\npayload: { content: Hello }\n',
  );
  await waitFor(async () => (await list()).length === 1);
  expect((await board.call('/api/schedules/tick/pause', {})).status).toBe(200);
  expect((await list())[0].enabled).toBe(false);
  expect(readFileSync(join(place, 'tick.yml'), 'utf8')).toMatch(/# mine[\s\S]*enabled: false/);
  board.write('crons/tick.yaml', readFileSync(join(place, 'tick.yml'), 'utf8').replace('0 9', '0 8'));
  await waitFor(async () => (await list())[0]?.schedule === '0 8 * * *');
  await waitFor(async () => (await problems()).some(({ file }: Json) => file === join(place, 'tick.yml')));
  rmSync(join(place, 'tick.yaml'));
  await waitFor(async () => (await list())[0]?.schedule === '0 9 * * *');
  expect(await problems()).toEqual([]);
  expect((await board.fetch('/api/schedules/tick', { method: 'DELETE' })).status).toBe(200);
  expect(readdirSync(place)).not.toContain('tick.yml');
  expect(await list()).toEqual([]);
});
