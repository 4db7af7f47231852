import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort, type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModelGateway } from './gateway.ts';

let server: ModelServer;
const webPage = createServer((_request, response) => response.end('<h1>Some other service</h1>'));

beforeAll(async () => {
  server = await startModelServer({ apiKey: 'right', models: ['small', 'large'] });
  webPage.listen(0, '127.0.0.1');
  await once(webPage, 'listening');
});
afterAll(async () => {
  await server.stop();
  webPage.closeAllConnections();
  webPage.close();
});

const right = () => ({ url: server.url, apiKey: 'right', model: 'small' });

describe('a check', () => {
  it('passes when the models are there', async () => {
    const gateway = createModelGateway({ ...right(), fastModel: 'large', fallbackModels: ['large'] });
    const message = `small is ready at ${server.url}.`;
    expect(await gateway.check()).toEqual({ ok: true, message, models: ['small', 'large'] });
  });

  it.each([
    [{ model: 'huge' }, 'not-found', 'LLM_MODEL is "huge"'],
    [{ fastModel: 'tiny' }, 'not-found', 'LLM_FAST_MODEL is "tiny"'],
    [{ fallbackModels: ['old'] }, 'not-found', 'fallback model is "old"'],
    [{ model: undefined }, 'misconfigured', 'LLM_MODEL is not set'],
  ])('names the setting and what is offered for %j', async (options, code, words) => {
    const check = await createModelGateway({ ...right(), ...options }).check();
    expect(check).toMatchObject({ ok: false, code, models: ['small', 'large'] });
    expect(check.message).toContain(words);
    expect(check.message).toContain('offers small, large');
  });

  it('names the key without showing it', async () => {
    const check = await createModelGateway({ ...right(), apiKey: 'wrong-key-value' }).check();
    expect(check).toMatchObject({
      ok: false,
      code: 'refused-key',
      message: expect.stringContaining('LLM_API_KEY'),
    });
    expect(JSON.stringify(check)).not.toContain('wrong-key-value');
  });

  it('names the address when nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1`;
    const check = await createModelGateway({ ...right(), url }).check();
    expect(check).toMatchObject({
      ok: false,
      code: 'unreachable',
      message: expect.stringContaining('LLM_GATEWAY_URL'),
    });
  });

  it('says that something else answers there', async () => {
    const url = `http://127.0.0.1:${(webPage.address() as AddressInfo).port}`;
    const check = await createModelGateway({ ...right(), url }).check();
    expect(check).toMatchObject({
      ok: false,
      code: 'bad-answer',
      message: expect.stringContaining('OpenAI-style'),
    });
  });

  it('says that the path is wrong', async () => {
    const check = await createModelGateway({ ...right(), url: server.url.replace('/v1', '/v2') }).check();
    expect(check).toMatchObject({ ok: false, code: 'not-found', message: expect.stringContaining('/v1') });
  });

  it('can be cancelled', async () => {
    expect(await createModelGateway(right()).check(AbortSignal.abort())).toMatchObject({
      ok: false,
      code: 'aborted',
    });
  });
});
