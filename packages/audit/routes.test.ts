import { createApp, type Logger, serve } from '@trunkline/http';
import { operatorAccess } from '@trunkline/identity';
import type { AuditEntry } from '@trunkline/std';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { AuditLog } from './audit-log.ts';
import { mountAuditLog } from './routes.ts';

const ignore = () => undefined;
const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
};

async function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const operator = operatorAccess(home.path);
  const log = new AuditLog({ home: home.path, logger: silentLogger });
  onTestFinished(() => log.close());
  const app = createApp({
    service: 'sample',
    version: '1',
    logger: silentLogger,
    renderError: ({ code }) => ({ body: { code } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator, audit: log },
  });
  mountAuditLog(app, log, operator);
  app.put('/operator/audit/setting', (context) => context.json({}));
  const server = await serve(app, {
    host: '127.0.0.1',
    port: 0,
    portVariable: 'SAMPLE_PORT',
    logger: silentLogger,
  });
  onTestFinished(() => server.stop());
  const key = operator.secrets[0] ?? '';
  const call = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { 'x-operator-key': key, ...init.headers } });
  const entries = async (query = '') => {
    const answer = (await (await call(`/operator/audit${query}`)).json()) as { entries: AuditEntry[] };
    return answer.entries.map(({ action, subject, principal, result }) => [
      action,
      subject,
      principal,
      result,
    ]);
  };
  return { call, entries, url: server.url, key };
}

const json = { 'content-type': 'application/json' };

it('records sign-ins, changes by the operator and refused callers, and no secret', async () => {
  const { call, entries, url, key } = await start();
  await fetch(`${url}/operator`, { method: 'POST', headers: json, body: '{"key":"wrong-key"}' });
  await fetch(`${url}/operator`, { method: 'POST', headers: json, body: JSON.stringify({ key }) });
  await fetch(`${url}/operator/audit`);
  await call('/operator/audit/setting', { method: 'PUT', headers: json, body: '{}' });
  expect(await entries()).toEqual([
    ['http.change', 'PUT /operator/audit/setting', 'operator:operator', '200'],
    ['http.refused', 'GET /operator/audit', 'anonymous:anonymous', '403'],
    ['operator.sign-in', 'POST /operator', 'anonymous:anonymous', '200'],
    ['operator.sign-in', 'POST /operator', 'anonymous:anonymous', '401'],
  ]);
  expect(await entries('?action=http.change')).toHaveLength(1);
  const exported = await (await call('/operator/audit/export')).text();
  expect(exported.trim().split('\n')).toHaveLength(4);
  expect(exported).not.toContain(key);
  expect(exported).not.toContain('wrong-key');
  expect(await (await call('/operator/audit/verify')).json()).toMatchObject({ entries: 4 });
});

it('lets strangers write no more than sixty entries a minute by signing in and out', async () => {
  const { call, entries, url, key } = await start();
  const signIn = (body: string) => fetch(`${url}/operator`, { method: 'POST', headers: json, body });
  for (let index = 0; index < 70; index++) {
    await signIn(index % 2 === 0 ? `{"key":"guess-${index}"}` : '{}');
    const headers = { cookie: 'trunkline_operator=made-up' };
    await fetch(`${url}/operator`, { method: 'DELETE', headers });
  }
  expect(await entries('?limit=200')).toHaveLength(60);
  const cookie = (await signIn(JSON.stringify({ key }))).headers.get('set-cookie')?.split(';')[0] ?? '';
  await call('/operator', { method: 'DELETE' });
  await fetch(`${url}/operator`, { method: 'DELETE', headers: { cookie } });
  expect((await entries('?limit=200')).slice(0, -60)).toEqual([
    ['operator.sign-out', 'DELETE /operator', 'operator:operator', '200'],
    ['operator.sign-in', 'POST /operator', 'anonymous:anonymous', '200'],
  ]);
});

it('counts refusals beyond sixty a minute instead of recording each', async () => {
  const { call, entries, url } = await start();
  for (let index = 0; index < 80; index++) await fetch(`${url}/operator/audit`);
  expect(await entries('?limit=500')).toHaveLength(60);
  expect((await call('/operator/audit?limit=0')).status).toBe(400);
});

it('is closed to everybody else', async () => {
  const { url } = await start();
  for (const path of ['', '/verify', '/export'])
    expect((await fetch(`${url}/operator/audit${path}`)).status).toBe(403);
});
