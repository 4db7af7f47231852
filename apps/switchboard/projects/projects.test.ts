import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaderPlugin } from '../cluster/leader.ts';
import { openContext } from '../fixtures/plugin-context.ts';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { ProjectRegistry, readProjects, remoteSource } from './registry.ts';
import { ProjectSync } from './sync.ts';

let server: Server;
let url: string;
let answers: Record<string, unknown>;
let asked: { path: string; key: string | undefined }[];

beforeEach(async () => {
  answers = {};
  asked = [];
  server = createServer((request, response) => {
    asked.push({ path: request.url ?? '', key: request.headers.authorization });
    const answer = answers[request.url ?? ''];
    response.statusCode = answer === undefined ? 500 : 200;
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const settings = '/api/settings/global';
const trunk = {
  id: 'p1',
  name: 'Trunk Line',
  path: '/srv/trunk',
  github: { owner: 'acme', repo: 'trunk' },
  defaultBranch: 'dev',
};

describe('reading a registry', () => {
  it('derives what an entry leaves out', () => {
    expect(
      readProjects({
        projects: [trunk, { name: 'acme/tool' }, { id: 3, github: 'https://host/acme/site.git' }, {}],
      }),
    ).toEqual([
      { ...trunk, slug: 'trunk-line' },
      {
        id: 'tool',
        name: 'acme/tool',
        slug: 'tool',
        path: '',
        github: { owner: 'acme', repo: 'tool' },
        defaultBranch: 'main',
      },
      {
        id: '3',
        name: 'site',
        slug: 'site',
        path: '',
        github: { owner: 'acme', repo: 'site' },
        defaultBranch: 'main',
      },
    ]);
  });

  it.each([[[]], [{ projects: [] }], [{ settings: { projects: [] } }], [{ data: { projects: [] } }]])(
    'takes %j',
    (body) => {
      expect(readProjects(body)).toEqual([]);
    },
  );

  it('says what it expected', () => {
    expect(() => readProjects({ repos: [] })).toThrow('expected {"projects"');
  });
});

it('is served by the switchboard at /api/projects [S004][S067][S083]', async () => {
  answers[settings] = { projects: [trunk] };
  const board = await startSwitchboard({ env: { PROJECT_REGISTRY_URL: `${url}${settings}` } });
  const body = await waitFor(async () => {
    const found = await board.call('/api/projects');
    return found.body.data.length === 1 ? found.body : undefined;
  });
  expect(body).toMatchObject({
    success: true,
    data: [{ id: 'p1', slug: 'trunk-line', defaultBranch: 'dev' }],
    problem: null,
  });
  await board.stop();
});

it('is asked for every five minutes, keeps the last good list, also over a restart [S151]', async () => {
  const home = temporaryDirectory();
  const clock = new FakeClock('2026-03-02T09:00:00Z');
  const board = await openContext(home.path);
  const registry = new ProjectRegistry(remoteSource(`${url}${settings}`), clock);
  answers[settings] = [trunk];
  await registry.start(board.context);
  await waitFor(() => registry.list().length === 1 && clock.pendingTimers === 1);
  await clock.advanceBy(299_999);
  expect(asked).toHaveLength(1);
  answers[settings] = [trunk, { name: 'second' }];
  await clock.advanceBy(1);
  await waitFor(() => registry.list().length === 2 && clock.pendingTimers === 1);
  for (const wrong of ['not json', { nothing: true }, undefined]) {
    answers[settings] = wrong;
    const before = asked.length;
    await clock.advanceBy(300_000);
    await waitFor(() => asked.length > before && clock.pendingTimers === 1);
    expect([registry.list().length, typeof registry.state().error]).toEqual([2, 'string']);
  }
  expect(board.on('system.error').length).toBeGreaterThan(0);
  await registry.stop();
  const later = new ProjectRegistry(remoteSource('http://127.0.0.1:9/'), clock);
  await later.start(board.context);
  expect(later.list()).toHaveLength(2);
  await later.stop();
  await board.stop();
  home.remove();
});

it('is read up to a limit', async () => {
  answers[settings] = { projects: [trunk], rest: 'x'.repeat(24 * 2 ** 20) };
  const reading = remoteSource(`${url}${settings}`)(new AbortController().signal);
  await expect(reading).rejects.toThrow('larger than 20 MB');
});

describe('compiling the list', () => {
  const repository = (name: string, more: object = {}) => ({
    id: name.length,
    name,
    full_name: `acme/${name}`,
    owner: { login: 'acme' },
    default_branch: 'main',
    topics: ['trunkline'],
    ...more,
  });

  it('takes the tagged repositories and the base set, every fifteen minutes [S151]', async () => {
    const home = temporaryDirectory();
    const clock = new FakeClock('2026-03-02T09:00:00Z');
    const board = await openContext(home.path);
    const leader = new LeaderPlugin(5000);
    await leader.start(board.context);
    const listing = '/orgs/acme/repos?per_page=100&page=1';
    answers[listing] = [
      repository('one'),
      repository('other', { topics: [] }),
      repository('gone', { archived: true }),
    ];
    answers['/repos/acme/base'] = repository('base', { topics: [], default_branch: 'trunk' });
    const given = {
      organisation: 'acme',
      topic: 'trunkline',
      base: ['acme/base'],
      apiUrl: url,
      token: 'token-1',
    };
    const sync = new ProjectSync(given, leader, clock);
    await sync.start(board.context);
    const names = async () => (await sync.compiled()).projects.map(({ name }) => name);
    expect(await names()).toEqual(['base', 'one']);
    expect(asked[0]?.key).toBe('Bearer token-1');
    await waitFor(() => clock.pendingTimers === 1);
    await clock.advanceBy(14 * 60_000);
    expect(asked).toHaveLength(2);
    answers[listing] = [repository('two')];
    await clock.advanceBy(60_000);
    await waitFor(async () => (await names()).join() === 'base,two');
    answers[listing] = undefined;
    await clock.advanceBy(15 * 60_000);
    await waitFor(() => board.on('system.error').length === 1);
    expect(await names()).toEqual(['base', 'two']);
    await sync.stop();
    await leader.stop();
    await board.stop();
    home.remove();
  });

  it('feeds the registry of the same switchboard and others [S004]', async () => {
    answers['/repos/acme/base'] = repository('base');
    const env = { PROJECT_SYNC_BASE: 'acme/base', CODEHOST_API_URL: url };
    const board = await startSwitchboard({ env });
    await waitFor(async () => (await board.call('/api/projects')).body.data.length === 1);
    expect((await board.call(settings)).body.projects[0]).toMatchObject({
      github: { owner: 'acme', repo: 'base' },
    });
    await board.stop();
  });
});
