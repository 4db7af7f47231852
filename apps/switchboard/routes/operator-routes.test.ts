import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { routeAccess } from './guards.ts';

/** Public, or guarded by a token or signature of their own. */
const publicPath =
  /^\/(healthz|ready|metrics|docs|help|operator|trust|setup|openapi\.json|\.well-known|webhooks?|files|api\/a2a\/callback|\*|)(\/|$)/;
/** A2A: its tasks are open while no key is set. */
const a2aPath = /^\/(v1\/)?(a2a(\/|$)|message:|tasks(\/|$)|card$|extendedAgentCard$)/;
const job = { schedule: '0 0 1 1 *', payload: { content: 'x' } };

/** So that the routes of all plugins are there; nobody answers behind them. */
const nowhere = 'http://127.0.0.1:9';
const everyPlugin = {
  VECTOR_URL: nowhere,
  LLM_GATEWAY_URL: nowhere,
  LLM_API_KEY: 'k',
  EMBED_MODEL: 'm',
  PROJECT_SYNC_BASE: 'acme/sea',
  CODEHOST_API_URL: nowhere,
};

let board: TestSwitchboard;
let key: string;
beforeAll(async () => {
  board = await startSwitchboard({ env: { TRUNKLINE_OPEN: '0', ...everyPlugin } });
  key = readFileSync(join(board.home, 'operator-key'), 'utf8').trim();
});
afterAll(() => board.stop());

const asOperator = () => ({ authorization: `Bearer ${key}` });
const publish = (topic: string, payload: object, headers = {}) =>
  board.call('/publish', { topic, payload }, headers);
const request = async (route: string, headers: Record<string, string> = {}) => {
  const [method = '', path = ''] = route.split(' ');
  const response = await board.fetch(path.replace(/:\w+/g, 'nobody'), {
    method,
    headers,
    ...(method !== 'GET' && { body: '"nothing"' }),
  });
  return { status: response.status, text: await response.text() };
};

describe('a switchboard without a key', () => {
  it('has every route in the table of access', () => {
    const routes = board
      .routes()
      .filter(({ path }) => !publicPath.test(path) && !a2aPath.test(path))
      .map(({ method, path }) => `${method} ${path}`);
    expect(routes.filter((route) => !(route in routeAccess))).toEqual([]);
    expect(Object.keys(routeAccess).filter((route) => !routes.includes(route))).toEqual([]);
  });

  const operatorRoutes = Object.keys(routeAccess).filter((route) => routeAccess[route] === 'operator');
  it.each(operatorRoutes)('leaves %s to the operator', async (route) => {
    const refused = await request(route);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("operator's key");
    expect([401, 403]).not.toContain((await request(route, asOperator())).status);
  });

  it('starts no program for a stranger', async () => {
    const proof = join(board.home, 'started');
    const server = {
      name: 'evil',
      transport: 'stdio',
      command: process.execPath,
      args: ['-e', `require('fs').writeFileSync(${JSON.stringify(proof)}, '')`],
      trust: 'trusted',
      enabled: true,
      // A sandbox would not let it write the proof.
      sandbox: 'off',
    };
    expect((await board.call('/api/mcp-servers/test', server)).status).toBe(403);
    expect((await board.call('/api/mcp-servers', server)).status).toBe(403);
    const order = { name: 'evil', file: 'evil.yaml', yaml: JSON.stringify(server), entry: server };
    const sent = await publish('command.mcp.upsert', order);
    expect(sent.status).toBe(403);
    expect(sent.body.error).toContain('Only the operator');
    // The operator's own trial of the same server runs it, so that the proof is one.
    await board.call('/api/mcp-servers/test', server, asOperator());
    expect(existsSync(proof)).toBe(true);
  });

  it('takes no document for true that a stranger published', async () => {
    const document = { id: 'rules', text: 'The crane lifts ninety tons.' };
    expect((await publish('knowledge.document', document)).status).toBe(403);
    expect((await publish('knowledge.document', document, asOperator())).status).toBe(200);
  });

  it.each(['message.inbound.onboard', 'skill.ab_test.register', 'ceremony.review.completed'])(
    'lets no stranger spend accounts, divert requests or forge results by %s',
    async (topic) => {
      expect((await publish(topic, { slug: 'x', title: 'x', github: 'a/b' })).status).toBe(403);
    },
  );

  it('takes messages, questions and readings of strangers as before', async () => {
    expect((await publish('message.inbound.cli', { content: 'hello' })).status).toBe(200);
    expect((await publish('agent.skill.request', { skillHint: 'chat', content: 'hello' })).status).toBe(200);
    for (const path of ['/api/agents', '/api/flows', '/api/bus/history', '/api/schedules', '/v1/models'])
      expect((await board.call(path)).status).toBe(200);
    const ask = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'none' } };
    expect((await board.call('/a2a', ask)).status).toBe(200);
  });

  it("has no session in a cookie that is not the operator's", async () => {
    const forged = { cookie: 'trunkline_operator=1.2.3' };
    expect((await request('POST /api/agents', forged)).status).toBe(403);
  });
});

describe('schedules of strangers', () => {
  const schedules = async () =>
    (await board.call('/api/schedules')).body.data.schedules.map(({ id }: { id: string }) => id);

  it('lead to agents, are listed, and can be changed by strangers', async () => {
    const add = { action: 'add', id: 'guest-job', topic: 'cron.guest-job', ...job };
    expect((await publish('command.schedule', add)).status).toBe(200);
    await waitFor(async () => (await schedules()).includes('guest-job'));
    const pause = await board.call('/api/schedules/guest-job/pause', {});
    expect([pause.status, pause.body.data.schedule.state]).toEqual([200, 'paused']);
    expect((await publish('command.schedule', { action: 'remove', id: 'guest-job' })).status).toBe(200);
    await waitFor(async () => !(await schedules()).includes('guest-job'));
  });

  it.each([
    'command.mcp.upsert',
    'command.schedule',
    'message.inbound.cli',
    'agent.skill.request',
    'ceremony.x.execute',
  ])('never fire on %s', async (topic) => {
    const add = { action: 'add', id: 'sly', topic, ...job };
    const refused = await publish('command.schedule', add);
    expect(refused.status).toBe(403);
    expect(refused.body.error).toContain('cron.');
    expect((await board.call('/api/schedules', { id: 'sly', topic, ...job })).status).toBe(403);
  });

  it("are not the operator's, which only the operator changes", async () => {
    const own = { id: 'nightly', topic: 'cron.nightly', ...job };
    expect((await board.call('/api/schedules', own, asOperator())).status).toBe(201);
    for (const action of ['remove', 'pause', 'run-now', 'add']) {
      const refused = await publish('command.schedule', { ...own, action, schedule: '* * * * *' });
      expect([action, refused.status]).toEqual([action, 403]);
    }
    const { data } = (await board.call('/api/schedules/nightly')).body;
    expect([data.schedule.schedule, data.schedule.state]).toEqual([job.schedule, 'active']);
    const paused = { action: 'pause', id: 'nightly' };
    expect((await publish('command.schedule', paused, asOperator())).status).toBe(200);
  });

  it('do not name another owner', async () => {
    const add = { action: 'add', id: 'forged', owner: 'ava', topic: 'cron.forged', ...job };
    expect((await publish('command.schedule', add)).status).toBe(403);
  });
});
