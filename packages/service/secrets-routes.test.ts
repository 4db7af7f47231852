import { writeFileSync } from 'node:fs';
import { AuditLog } from '@trunkline/audit';
import { type Logger, secretStoreOf } from '@trunkline/config';
import { createApp } from '@trunkline/http';
import { operatorAccess } from '@trunkline/identity';
import type { SecretsView } from '@trunkline/std';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { mountSecrets } from './secrets-routes.ts';

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const operator = operatorAccess(home.path);
  const log = new AuditLog({ home: home.path, logger });
  onTestFinished(() => log.close());
  const app = createApp({
    service: 'sample',
    version: '1',
    logger,
    renderError: ({ code, message }) => ({ body: { code, message } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator, audit: log },
  });
  const store = secretStoreOf({ TRUNKLINE_HOME: home.path });
  mountSecrets(app, { secrets: store, operator, audit: log });
  const key = operator.secrets[0] ?? '';
  const call = async (
    method: string,
    path = '',
    body?: object,
    headers: object = { 'x-operator-key': key },
  ) => {
    const answer = await app.request(`http://127.0.0.1/operator/secrets${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { call, store, log };
}

it('stores, lists and removes secrets for the operator; no answer and no record holds a value', async () => {
  const { call, store, log } = start();
  expect(JSON.parse((await call('GET')).text)).toMatchObject({ secrets: [] });
  expect((await call('PUT', '/llm-key', { value: 'sesame-route' })).status).toBe(200);
  expect(store.get('llm-key', 'LLM_API_KEY')).toBe('sesame-route');
  const listed = await call('GET');
  expect((JSON.parse(listed.text) as SecretsView).secrets).toMatchObject([
    { name: 'llm-key', users: [{ user: 'LLM_API_KEY' }] },
  ]);
  expect((await call('DELETE', '/llm-key')).status).toBe(200);
  expect((await call('DELETE', '/llm-key')).status).toBe(404);
  expect(JSON.stringify([listed, log.list()])).not.toContain('sesame');
  const recorded = log.list().map(({ action, subject, principal }) => [action, subject, principal]);
  expect(recorded).toContainEqual(['secret.set', 'llm-key', 'operator:operator']);
  expect(recorded).toContainEqual(['secret.remove', 'llm-key', 'operator:operator']);
});

it('is closed to everybody else', async () => {
  const { call, store } = start();
  for (const [method, path] of [
    ['GET', ''],
    ['PUT', '/a'],
    ['DELETE', '/a'],
  ] as const) {
    const { status } = await call(method, path, method === 'PUT' ? { value: 'sesame' } : undefined, {});
    expect([401, 403]).toContain(status);
  }
  expect(store.exists()).toBe(false);
});

it('says why a name or the store is refused', async () => {
  const { call, store } = start();
  expect(await call('PUT', '/a%20b', { value: 'sesame' })).toMatchObject({ status: 400 });
  expect((await call('PUT', '/a', { value: '' })).status).toBeGreaterThanOrEqual(400);
  store.set('a', 'sesame');
  writeFileSync(store.file, '');
  const refused = await call('GET');
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('Restore it from a backup')]);
});
