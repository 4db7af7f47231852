import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { describe, expect, it } from 'vitest';
import { json, startVoice } from '../voice.suite.ts';

const files = { 'users.yaml': 'users: [{id: ada, api_key: ada, role: admin}, {id: ben, api_key: ben}]' };
const env = { A2A_AUTH_TOKEN: 'shared' };

/** Open to everyone, whatever is configured. */
const open = [
  'GET /healthz',
  'GET /metrics',
  'GET /.well-known/jwks.json',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/:file',
  'GET /help',
  'GET /help/images/:name',
  'GET /help/*',
  'GET /operator',
  'POST /operator',
  'DELETE /operator',
];
/** Asks for a code that is used up by the first who shows it. */
const link = ['GET /operator/enter'];
/** What only the operator may read and change. */
const operators = /^\w+ \/operator\/(?!enter$)/;

/** What a user does with their own calls and choices. */
const user = [
  'GET /api/whoami',
  'GET /api/ice',
  'POST /api/lines',
  'DELETE /api/lines',
  'POST /api/offer',
  'PATCH /api/offer',
  'DELETE /api/offer',
  'GET /api/skills',
  'POST /api/skills',
  'GET /api/verbosity',
  'POST /api/verbosity',
  'GET /api/metrics',
  'GET /api/voice/references',
];
/** What changes how the service answers: for users of the roster as the contract says, for the operator, for no stranger. */
const configuring = [
  'POST /api/voice/clone',
  'POST /api/users/reload',
  'POST /api/skills/reload',
  'POST /api/delegates/reload',
];
/** What changes something for others: for admins of the roster and the operator. */
const admin = ['POST /api/admin/skills'];
const a2a =
  /^\w+ \/(\.well-known\/agent(-card)?\.json$|(v1\/)?(a2a(\/|$)|message:|tasks(\/|$)|card$|extendedAgentCard$))/;

/** A route that is in no list has not been thought about. */
function kindOf(route: string): 'open' | 'link' | 'operator' | 'user' | 'admin' | 'agent' {
  if (open.includes(route)) return 'open';
  if (link.includes(route)) return 'link';
  if (operators.test(route)) return 'operator';
  if (user.includes(route) || configuring.includes(route)) return 'user';
  if (admin.includes(route)) return 'admin';
  if (a2a.test(route)) return 'agent';
  throw new Error(`Nobody has decided who may call ${route}: put it into a list.`);
}

describe('every route', () => {
  it('asks for the key that the contract names, and for no other [V101][V102][V103][V105][V107]', async () => {
    const voice = await startVoice({ files, env: { ...env, TRUNKLINE_OPEN: '0' } });
    const routes = voice.routes().filter(({ path }) => !path.endsWith('*'));
    expect(routes.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/api/whoami', '/a2a', '/a2a/callback']),
    );
    const send = async (method: string, path: string, key?: string) => {
      const { status } = await voice.ask(
        path.replaceAll(/\/:\w+(\{[^}]*\})?/g, '/x'),
        { ...(method === 'GET' ? {} : json({})), method },
        key,
      );
      return status === 401 || status === 403 ? status : 'in';
    };
    for (const { method, path } of routes) {
      const route = `${method} ${path}`;
      const kind = kindOf(route);
      const keys = [undefined, 'wrong', 'ben', 'ada', 'shared'];
      const seen = await Promise.all(keys.map((key) => send(method, path, key)));
      const expected = {
        open: ['in', 'in', 'in', 'in', 'in'],
        link: [401, 401, 401, 401, 401],
        operator: [403, 403, 403, 403, 403],
        user: [401, 401, 'in', 'in', 401],
        admin: [401, 401, 403, 'in', 401],
        agent: [401, 401, 401, 401, 'in'],
      }[kind];
      expect({ route, seen }).toEqual({ route, seen: expected });
    }
  });

  it('knows people with an account, and the user of the roster that is linked to one', async () => {
    const voice = await startVoice({ files, env: { ...env, TRUNKLINE_OPEN: '0' } });
    const accounts = openAccounts({ home: voice.home, logger: console });
    const { id } = accounts.create({ name: 'Mia', role: 'member' });
    const { key } = accounts.createKey(id, 'test');
    const who = async (shown: string) => (await voice.get('/api/whoami', shown)).body;
    expect(await who(key)).toMatchObject({ id: `user:${id}`, display_name: 'Mia', role: 'user' });
    expect((await voice.post('/api/users/reload', {}, key)).status).toBe(403);
    expect(accounts.listed()).toContainEqual(
      expect.objectContaining({ source: 'users.yaml', identity: 'voice:ben', role: 'member' }),
    );
    accounts.link(id, 'voice:ben');
    expect(await who(key)).toMatchObject({ id: 'ben' });
    accounts.update(id, { role: 'guest' });
    for (const shown of [key, 'ben']) {
      expect((await voice.get('/api/skills', shown)).status).toBe(200);
      for (const route of [...configuring, ...admin])
        expect([route, (await voice.post(route.split(' ')[1] ?? '', {}, shown)).status]).toEqual([
          route,
          403,
        ]);
      for (const path of ['/api/metrics', '/api/voice/references'])
        expect([path, (await voice.get(path, shown)).status]).toEqual([path, 403]);
    }
    accounts.update(id, { disabled: true });
    expect([
      (await voice.get('/api/whoami', key)).status,
      (await voice.get('/api/whoami', 'ben')).status,
    ]).toEqual([403, 403]);
    accounts.update(id, { disabled: false });
    const push = (guess: string) => {
      const headers = { 'x-api-key': key, authorization: `Bearer ${guess}` };
      return voice.ask('/a2a/callback', { ...json({ text: 'News.' }), headers });
    };
    expect((await push('guess')).status).toBe(401);
    for (let index = 0; index < 10; index += 1) await push(`guess-${index}`);
    expect((await push('shared')).status).toBe(429);
    accounts.close();
  });

  it('that configures needs the operator where there is no roster', async () => {
    const voice = await startVoice({ env: { TRUNKLINE_OPEN: '0' } });
    const key = readFileSync(join(voice.home, 'operator-key'), 'utf8').trim();
    for (const route of [...configuring, ...admin]) {
      const path = route.split(' ')[1] ?? '';
      expect({ path, status: (await voice.post(path, {})).status }).toEqual({ path, status: 403 });
      expect([401, 403]).not.toContain((await voice.post(path, {}, key)).status);
    }
    expect((await voice.get('/api/whoami')).body).toMatchObject({ id: 'default', role: 'admin' });
  });

  it('is open to all without roster and token, the admin route included [V104]', async () => {
    const voice = await startVoice();
    for (const path of ['/api/whoami', '/api/skills', '/api/metrics', '/.well-known/agent-card.json'])
      expect((await voice.get(path, 'whatever')).status).toBe(200);
    expect((await voice.post('/api/admin/skills', { user_id: 'default', slug: 'chef' })).status).toBe(200);
  });

  it('answers a missing or unknown key in the same words, for unknown paths under /api too', async () => {
    const voice = await startVoice({ files });
    for (const [path, key] of [
      ['/api/whoami', undefined],
      ['/api/whoami', 'no'],
      ['/api/nothing', undefined],
    ] as const) {
      const { status, body, headers } = await voice.get(path, key);
      expect({ status, body }).toEqual({ status: 401, body: { detail: 'unknown or missing api key' } });
      expect(headers.get('www-authenticate')).toContain('X-API-Key');
    }
    expect(await voice.get('/api/nothing', 'ben')).toMatchObject({
      status: 404,
      body: { error: 'not found' },
    });
    expect(await voice.get('/nothing')).toMatchObject({ status: 404, body: { error: 'not found' } });
  });

  it.each([
    ['/api/verbosity', {}, ['body', 'level']],
    ['/api/verbosity', { level: 3 }, ['body', 'level']],
    ['/api/skills', { slug: null }, ['body', 'slug']],
    ['/api/admin/skills', { user_id: 'ada' }, ['body', 'slug']],
  ])('answers 422 with the place of what is wrong: %s %j', async (path, body, loc) => {
    const voice = await startVoice({ files });
    const answer = await voice.post(path, body, 'ada');
    expect(answer.status).toBe(422);
    expect(answer.body.detail?.[0]).toMatchObject({ loc, msg: expect.any(String) });
  });

  it('answers 422 to a body that is no JSON', async () => {
    const voice = await startVoice();
    expect(await voice.post('/api/skills', '{"slug"')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body'], msg: 'The body is not valid JSON.' }] },
    });
  });
});
