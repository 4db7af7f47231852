import { AuditLog } from '@trunkline/audit';
import { createLogger, secretStoreOf } from '@trunkline/config';
import { createApp } from '@trunkline/http';
import { operatorAccess } from '@trunkline/identity';
import type { ModelList, ModelTest, SetupView } from '@trunkline/std';
import { startModelServer, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { recordRunning } from './running.ts';
import { mountSetup } from './setup.ts';

const logger = createLogger({ name: 'test', destination: { write: () => undefined } });

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const operator = operatorAccess(home.path);
  const audit = new AuditLog({ home: home.path, logger });
  onTestFinished(() => audit.close());
  const app = createApp({
    service: 'sample',
    version: '1',
    logger,
    renderError: ({ code, message }) => ({ body: { code, message } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator, audit },
  });
  const env = { TRUNKLINE_HOME: home.path };
  const variables = {
    llmGatewayUrl: undefined,
    llmModel: undefined,
    llmFastModel: undefined,
    llmJudgeModel: undefined,
    llmVisionModel: undefined,
    llmGguf: undefined,
  };
  const options = { trunklineHome: home.path, ...variables };
  mountSetup(app, { service: 'sample', operator, audit, secrets: secretStoreOf(env), options, env, logger });
  const key = { 'x-operator-key': operator.secrets[0] ?? '' };
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = key) => {
    const answer = await app.request(`http://127.0.0.1/operator/setup${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { call, audit, home: home.path };
}

it('lists, tests and saves a model for the operator, and records it without the key', async () => {
  const server = await startModelServer({ script: () => 'Hello.' });
  onTestFinished(() => server.stop());
  const { call, audit } = start();
  const url = server.url;
  const [model = ''] = (JSON.parse((await call('POST', '/models', { url })).text) as ModelList).models;
  const tested = JSON.parse((await call('POST', '/test', { url, model })).text) as ModelTest;
  expect(tested.ok).toBe(true);
  const saved = await call('PUT', '/model', { role: 'chat', url, model, apiKey: 'sesame-route' });
  expect((JSON.parse(saved.text) as SetupView).roles.chat).toEqual({ model, url, hasKey: true });
  await call('PUT', '/steps', { steps: { speech: 'skipped' } });
  const view = JSON.parse((await call('GET', '')).text) as SetupView;
  expect(view.steps).toMatchObject({ model: 'done', speech: 'skipped', search: 'open' });
  expect(audit.list()).toContainEqual(expect.objectContaining({ action: 'setup.model', subject: 'chat' }));
  expect(JSON.stringify([saved, view, audit.list()])).not.toContain('sesame');
});

it('goes back to the demo model', async () => {
  const { call } = start();
  await call('PUT', '/model', { role: 'chat', model: 'a', url: 'http://127.0.0.1:1/v1' });
  const back = JSON.parse((await call('PUT', '/model', { role: 'chat', model: null })).text) as SetupView;
  expect([back.roles, back.steps.model]).toEqual([{}, 'skipped']);
});

it('takes no service of its own as a model', async () => {
  const { call, home } = start();
  const running = await recordRunning(home, [{ name: 'agent', url: 'http://127.0.0.1:8640' }]);
  onTestFinished(() => running.remove());
  const url = 'http://localhost:8640/v1';
  const own = 'At 127.0.0.1:8640 is Trunkline itself';
  expect((await call('POST', '/models', { url })).text).toContain(own);
  expect((await call('POST', '/test', { url, model: 'a' })).text).toContain(own);
  const saved = await call('PUT', '/model', { role: 'chat', url, model: 'a' });
  expect([saved.status, saved.text]).toEqual([400, expect.stringContaining(own)]);
  const blocked = await call('POST', '/models', { url: 'http://127.0.0.1:9' });
  expect(JSON.parse(blocked.text)).toMatchObject({
    ok: false,
    problem: expect.stringContaining('calls port 9'),
  });
});

it('refuses what cannot be used with words, and everybody but the operator', async () => {
  const { call } = start();
  const refused = await call('PUT', '/model', { role: 'chat', model: 'a', url: 'ftp://b' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('no address')]);
  expect((await call('PUT', '/steps', { steps: { speech: 'perhaps' } })).status).toBe(400);
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/find'],
    ['POST', '/models'],
    ['POST', '/test'],
    ['PUT', '/model'],
    ['PUT', '/steps'],
  ] as const) {
    const { status } = await call(method, path, method === 'GET' ? undefined : {}, {});
    expect([401, 403]).toContain(status);
  }
});
