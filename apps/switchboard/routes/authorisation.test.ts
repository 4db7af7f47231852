import { openAccounts } from '@trunkline/accounts';
import { statusOf, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { isScopedPath } from './guards.ts';

const keysFile = `
keys:
  - { name: ava, envKey: AVA_KEY, publish: [command.schedule, cron.ava.#], subscribe: [cron.ava.#] }
  - { name: chief, envKey: CHIEF_KEY, admin: true }
`;
const env = { SWITCHBOARD_API_KEY: 'operator-key', AVA_KEY: 'ava-key', CHIEF_KEY: 'chief-key' };
const publicPath = /^\/(healthz|ready|metrics|docs|help|trust|openapi\.json|\.well-known|\*|)(\/|$)/;
/** Guarded by the token of each task. */
const tokenPath = /^\/api\/a2a\/callback\//;
/** Where the operator signs in; answers 401 to a link that is not valid. */
const signInPath = /^\/operator(\/|$)/;
/** The signature of a link lets somebody in, and no key does. */
const linkPath = /^\/files\//;
const guardedPath = /^\/(publish|api\/|v1\/|a2a|message:|tasks|extendedAgentCard)/;

const presented = [
  { name: 'nothing', headers: {}, role: 'nobody' },
  { name: 'a wrong key', headers: { 'x-api-key': 'operator-kez' }, role: 'nobody' },
  { name: 'the key with another scheme', headers: { authorization: 'Basic operator-key' }, role: 'nobody' },
  { name: 'a scoped key', headers: { 'x-api-key': 'ava-key' }, role: 'scoped' },
  { name: 'the operator key', headers: { 'x-api-key': 'operator-key' }, role: 'admin' },
  { name: 'the operator key as bearer', headers: { authorization: 'Bearer operator-key' }, role: 'admin' },
  { name: 'an admin key of the file', headers: { 'x-api-key': 'chief-key' }, role: 'admin' },
];

describe('keys and scopes', () => {
  let board: TestSwitchboard;
  beforeAll(async () => {
    board = await startSwitchboard({ env, files: { 'keys.yaml': keysFile } });
  });
  afterAll(() => board.stop());

  it.each(presented)('every route treats $name as its rule says [S098]', async ({ headers, role }) => {
    const check = async ({ method, path }: { method: string; path: string }) => {
      if (signInPath.test(path)) return [];
      if (linkPath.test(path)) {
        const status = await statusOf(board.url + concrete(path), method, headers);
        return status === 403 ? [] : [`${method} ${path} answered ${status}`];
      }
      const isPublic = publicPath.test(path) || tokenPath.test(path);
      if (isPublic === (guardedPath.test(path) && !tokenPath.test(path)))
        return [`${method} ${path} falls under no rule`];
      const status = await statusOf(board.url + concrete(path), method, headers);
      const refusal = isPublic ? undefined : expectedRefusal(role, path);
      const isRight = refusal === undefined ? status !== 401 && status !== 403 : status === refusal;
      return isRight ? [] : [`${method} ${path} answered ${status}`];
    };
    const wrong = (await Promise.all(board.routes().map(check))).flat();
    expect(board.routes().length).toBeGreaterThan(6);
    expect(wrong).toEqual([]);
  });

  it('lets people with an account in, as their role says, and lists its keys beside them', async () => {
    const accounts = openAccounts({ home: board.home, logger: console });
    const status = async (role: 'operator' | 'member' | 'guest', method: string, path: string) => {
      const { key } = accounts.createKey(accounts.create({ name: role, role }).id, 'test');
      return await statusOf(board.url + concrete(path), method, { authorization: `Bearer ${key}` });
    };
    expect([
      await status('operator', 'GET', '/api/changes'),
      await status('member', 'GET', '/api/schedules'),
      await status('guest', 'GET', '/api/schedules'),
      await status('guest', 'GET', '/v1/models'),
    ]).toEqual([200, 200, 403, 200]);
    expect(accounts.listed()).toEqual([
      { source: 'keys.yaml', identity: 'key:ava', name: 'ava', role: 'member' },
      { source: 'keys.yaml', identity: 'key:chief', name: 'chief', role: 'operator' },
    ]);
    accounts.close();
  });

  const publish = (key: string, body: object) => board.call('/publish', body, { 'x-api-key': key });

  it('leads a scoped key back through all that it may see, past what it may not', async () => {
    for (const number of [0, 1, 2, 3, 4]) {
      await publish('ava-key', { topic: 'cron.ava.page', payload: { number } });
      await publish('operator-key', { topic: 'message.outbound.attic', payload: { number } });
      await publish('operator-key', { topic: 'message.outbound.attic', payload: { number } });
    }
    const numbers: number[] = [];
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      const path: string = `/api/bus/history?limit=2&before=${before}`;
      const { data }: Json = (await board.call(path, undefined, { 'x-api-key': 'ava-key' })).body;
      const seen = data.messages.filter(({ message }: Json) => message.topic === 'cron.ava.page');
      numbers.unshift(...seen.map(({ message }: Json) => message.payload.number));
      before = data.earlier;
    }
    expect(numbers).toEqual([0, 1, 2, 3, 4]);
  });

  it('lets a scoped key publish within its patterns only [S003]', async () => {
    expect((await publish('ava-key', { topic: 'cron.ava.report', payload: {} })).status).toBe(200);
    const forged = await publish('ava-key', { topic: 'message.inbound.chat.1', payload: { content: 'hi' } });
    expect(forged).toMatchObject({ status: 403, body: { success: false } });
    expect(forged.body.error).toContain('keys.yaml');
    const reply = { topic: 'message.inbound.chat.1' };
    expect((await publish('ava-key', { topic: 'cron.ava.x', payload: {}, reply })).status).toBe(403);
  });

  it('lets a scoped key command schedules of its own only', async () => {
    const command = (payload: object) => publish('ava-key', { topic: 'command.schedule', payload });
    expect((await command({ action: 'add', id: 'ava-daily', topic: 'cron.ava.daily' })).status).toBe(200);
    expect((await command({ action: 'list' })).status).toBe(200);
    expect((await command({ action: 'remove', id: 'bob-daily' })).status).toBe(403);
    expect((await command({ action: 'add', id: 'ava-x', topic: 'message.inbound.cli' })).status).toBe(403);
  });

  it('lets nobody write the answers of agents and people', async () => {
    for (const topic of ['response', 'progress', 'reasoning', 'toolframe']
      .map((kind) => `agent.skill.${kind}.c1`)
      .concat('agent.input.response.r1')) {
      expect((await publish('operator-key', { topic, payload: {} })).status).toBe(403);
    }
  });

  it('follows keys.yaml while it runs, and keeps the last good keys when it breaks', async () => {
    board.write('keys.yaml', `${keysFile}  - { name: eve, envKey: CHIEF_KEY2 }\n`);
    board.write('keys.yaml', keysFile.replace('cron.ava.#]', 'cron.ava.#, note.ava]'));
    await waitFor(async () => (await publish('ava-key', { topic: 'note.ava', payload: {} })).status === 200);
    board.write('keys.yaml', 'keys: [{ name: ava, envKey: AVA_KEY, publish: ["#.bad"] }]');
    await waitFor(() => board.log.some((line) => line.includes('keys.yaml:1:')));
    expect((await publish('ava-key', { topic: 'note.ava', payload: {} })).status).toBe(200);
  });
});

describe('with keys in keys.yaml alone', () => {
  it('is closed at every door, that of A2A included', async () => {
    const scoped = { AVA_KEY: env.AVA_KEY, CHIEF_KEY: env.CHIEF_KEY };
    const board = await startSwitchboard({ env: scoped, files: { 'keys.yaml': keysFile } });
    const ask = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'none' } };
    const statuses = async (path: string, body: object) => {
      const keys = [{}, { 'x-api-key': 'ava-key' }, { 'x-api-key': 'chief-key' }];
      return await Promise.all(keys.map(async (key) => (await board.call(path, body, key)).status));
    };
    expect(await statuses('/a2a', ask)).toEqual([401, 403, 200]);
    expect(await statuses('/publish', { topic: 'note.x', payload: {} })).toEqual([401, 403, 200]);
    await board.stop();
  });
});

describe('without a key', () => {
  it('is open on loopback, with a warning', async () => {
    const board = await startSwitchboard();
    expect((await board.call('/publish', { topic: 'note.x', payload: {} })).status).toBe(200);
    expect(board.log.some((line) => line.includes('SWITCHBOARD_API_KEY'))).toBe(true);
    await board.stop();
  });

  it('refuses to listen beyond loopback', async () => {
    await expect(startSwitchboard({ env: { SWITCHBOARD_HOST: '0.0.0.0' } })).rejects.toThrow(
      'set SWITCHBOARD_API_KEY',
    );
  });
});

function expectedRefusal(role: string, path: string): 401 | 403 | undefined {
  if (role === 'nobody') return 401;
  return role === 'scoped' && !isScopedPath(path) ? 403 : undefined;
}

function concrete(path: string): string {
  return path
    .replace(/:(\w+)\{[^}]*:(\w+)\}/g, 'nobody:$2')
    .replace('/schedules/:id', '/schedules/ava-none')
    .replace(/\/:[A-Za-z]+(?=\/|$)/g, '/nobody')
    .replace('*', 'nothing');
}
