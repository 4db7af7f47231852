import { readFileSync } from 'node:fs';
import { encodePrincipal, operatorAccess, type Principal, principalHeader } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { callerGuard, createKeyring } from './caller-guard.ts';
import { requireOperator } from './operator-routes.ts';

const serviceToken = 'token-between-services';

/** A service with a key of its own, and a route for the operator alone. */
async function start(isOpen = false) {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const operator = operatorAccess(home.path);
  const server = await startApp(
    (app) => {
      app.use(
        '/api/*',
        callerGuard({
          keyring: createKeyring([{ key: 'token', caller: { id: 'agent' } }]),
          trustedCaller: ({ id }) => ({ id }),
        }),
      );
      app.get('/api/who', (c) => c.json({ caller: c.get('caller').id, principal: c.get('principal') }));
      app.post('/api/config', requireOperator(operator), (c) => c.json({ done: true }));
      app.get('/open/config', requireOperator({ ...operator, isOpen }), (c) => c.json({ done: true }));
    },
    { access: { operator, serviceToken } },
  );
  const key = readFileSync(operator.keyFile, 'utf8').trim();
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${server.url}${path}`, { method, headers, redirect: 'manual' });
  const configure = async (headers: Record<string, string>) =>
    (await ask('/api/config', headers, 'POST')).status;
  return { server, operator, key, ask, configure };
}

const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';

it('lets the operator configure by the key, wherever it stands, and nobody else', async () => {
  const { key, configure, ask } = await start();
  for (const headers of [
    { authorization: `Bearer ${key}` },
    { 'x-api-key': key },
    { 'x-operator-key': key, authorization: 'Bearer token' },
  ])
    expect(await configure(headers)).toBe(200);
  expect(await configure({ authorization: 'Bearer token' })).toBe(403);
  expect(await configure({ authorization: `Bearer ${key}x` })).toBe(401);
  expect(await configure({})).toBe(401);
  const refused = await ask('/api/config', { authorization: 'Bearer token' }, 'POST');
  expect(await refused.json()).toMatchObject({
    code: 'operator_required',
    message: expect.stringContaining('trunkline login'),
  });
});

it('signs a browser in by a link, once, with a cookie that scripts and other sites do not get', async () => {
  const { operator, ask, configure } = await start();
  const link = `/operator/enter?code=${operator.createCode()}`;
  expect((await ask(link, {}, 'HEAD')).status).toBe(204);
  const entered = await ask(link);
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/']);
  expect(entered.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict$/);
  const cookie = cookieOf(entered);
  expect(await configure({ cookie: `other=1; ${cookie}` })).toBe(200);
  expect((await ask(link)).status).toBe(401);
  expect((await ask('/operator/enter?code=1.2.3')).status).toBe(401);
  expect(await configure({ cookie: `${cookie}x` })).toBe(401);
});

it('does not take the cookie from a page of another port, to which browsers attach it too', async () => {
  const { operator, ask, configure } = await start();
  const cookie = cookieOf(await ask(`/operator/enter?code=${operator.createCode()}`));
  for (const site of ['same-site', 'cross-site'])
    expect((await ask('/api/who', { cookie, 'sec-fetch-site': site })).status).toBe(401);
  expect(await configure({ cookie, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await configure({ cookie, origin: 'http://127.0.0.1:1' })).toBe(403);
  expect((await ask('/api/who', { cookie, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
});

it('signs in by the key, out again, and stops whoever guesses', async () => {
  const { server, key, ask } = await start();
  const signIn = (given: string) =>
    fetch(`${server.url}/operator`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: given }),
    });
  const cookie = cookieOf(await signIn(key));
  expect(await (await ask('/operator', { cookie })).json()).toMatchObject({ operator: true, open: false });
  const out = await ask('/operator', { cookie }, 'DELETE');
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  const wrong = [];
  for (let attempt = 0; attempt < 12; attempt += 1) wrong.push((await signIn(`guess-${attempt}`)).status);
  expect(wrong).toEqual([...Array(10).fill(401), 429, 429]);
  expect((await signIn(key)).status).toBe(200);
});

it('takes from our own services the principal they ask for, and never lends the rights of a service', async () => {
  const { ask, configure } = await start();
  const as = (principal: Principal) => ({
    authorization: `Bearer ${serviceToken}`,
    [principalHeader]: encodePrincipal(principal),
  });
  const person: Principal = { kind: 'person', id: 'voice:ava', via: ['voice'] };
  expect(await (await ask('/api/who', as(person))).json()).toEqual({
    caller: 'voice:ava',
    principal: person,
  });
  const anonymous: Principal = { kind: 'anonymous', id: 'anonymous', via: ['voice'] };
  expect((await ask('/api/who', as(anonymous))).status).toBe(401);
  expect((await ask('/api/who', { authorization: `Bearer ${serviceToken}` })).status).toBe(401);
  // Nobody but a service may name a principal, and the operator approves in person only.
  const forged = { ...as(person), authorization: 'Bearer token' };
  expect(await (await ask('/api/who', forged)).json()).toMatchObject({ caller: 'agent' });
  expect(await configure(as({ kind: 'operator', id: 'operator', via: ['voice'] }))).toBe(403);
  expect((await ask('/api/who', as({ kind: 'operator', id: 'operator', via: [] }))).status).toBe(401);
});

it('in an open installation lets everybody configure but a page that made its own name point here', async () => {
  const { server, key } = await start(true);
  const ask = async (headers: Record<string, string>) => {
    const client = await rawClient(server.port);
    client.write(getRequest('/open/config', { connection: 'close', ...headers }));
    await client.closed;
    return client.received;
  };
  expect(await ask({ host: '127.0.0.1' })).toContain('200 OK');
  expect(await ask({ host: 'rebound.example' })).toContain('"foreign_name"');
  expect(await ask({ host: 'trunkline.example', 'x-operator-key': key })).toContain('200 OK');
});
