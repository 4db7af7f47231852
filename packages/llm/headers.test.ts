import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { defineOptions, modelOptions, readOptions, requestHeaders, secretValues } from '@trunkline/config';
import { startModelServer, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createLiveGateway, createModelGateway } from './gateway.ts';
import { ModelsFile } from './profiles/models-file.ts';

const table = defineOptions('test', 'A service', modelOptions);
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];

async function model(name = 'big') {
  const server = await startModelServer({ script: () => 'here' });
  onTestFinished(() => server.stop());
  return { server, url: server.url, name };
}

function liveGateway(env: Record<string, string>, models = '') {
  const home = temporaryDirectory();
  onTestFinished(() => home.remove());
  writeFileSync(join(home.path, 'models.yaml'), models);
  const options = { ...readOptions(table, { env }), trunklineHome: home.path };
  return { gateway: createLiveGateway(options, { env }), file: new ModelsFile({ home: home.path, env }) };
}

it('sends added headers to the chat and to embeddings', async () => {
  const { server, url } = await model();
  const headers = { 'X-Portkey-Provider': 'openai', Authorization: 'Token t-1' };
  const gateway = createModelGateway({ url, apiKey: 'other', headers, model: 'big', embeddingModel: 'e' });
  await gateway.languageModel().doGenerate({ prompt });
  await gateway.embed?.(['a']);
  const kinds = server.requests.map((request) => new URL(request.path, url).pathname.split('/').at(-1));
  expect(new Set(kinds)).toEqual(new Set(['completions', 'embeddings']));
  for (const request of server.requests)
    expect(request.headers).toMatchObject({ 'x-portkey-provider': 'openai', authorization: 'Token t-1' });
});

it('sends each endpoint its own headers and no others', async () => {
  const [main, helper] = [await model(), await model()];
  const env = {
    LLM_GATEWAY_URL: main.url,
    LLM_MODEL: 'big',
    LLM_HEADERS: '{"X-Of": "main", "X-Main-Key": "sesame"}',
    KEY_OF_HELPER: 'open-sesame',
  };
  const { gateway } = liveGateway(
    env,
    `roles: { helper: { model: small, url: '${helper.url}', headers: { X-Of: helper, X-Helper-Key: '\${KEY_OF_HELPER}' } } }`,
  );
  await gateway.languageModel().doGenerate({ prompt });
  await gateway.fastModel().doGenerate({ prompt });
  expect(main.server.requests[0]?.headers).toMatchObject({ 'x-of': 'main', 'x-main-key': 'sesame' });
  expect(main.server.requests[0]?.headers['x-helper-key']).toBeUndefined();
  expect(helper.server.requests[0]?.headers).toMatchObject({
    'x-of': 'helper',
    'x-helper-key': 'open-sesame',
  });
  expect(helper.server.requests[0]?.headers['x-main-key']).toBeUndefined();
});

it('takes headers of the chat role from the next call on, and keeps them when another model is chosen', async () => {
  const { server, url } = await model();
  const { gateway, file } = liveGateway(
    {},
    `roles: { chat: { model: big, url: '${url}', headers: { X-Of: a } } }`,
  );
  await gateway.languageModel().doGenerate({ prompt });
  writeFileSync(file.file, `roles: { chat: { model: big, url: '${url}', headers: { X-Of: bb } } }`);
  await file.saveRole('chat', { model: 'bigger', url });
  await expect.poll(() => gateway.describe().name).toBe('bigger');
  await gateway.languageModel().doGenerate({ prompt });
  expect(server.requests.map(({ headers }) => headers['x-of'])).toEqual(['a', 'bb']);
  await file.saveRole('chat', { model: 'bigger', url: `${url}/other` });
  expect(file.role('chat')?.headers).toBeUndefined();
});

it('lists models with added headers, and gives them to no other host that an endpoint redirects to', async () => {
  const seen: Record<string, unknown>[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers);
    response.setHeader('content-type', 'application/json').end('{"data":[{"id":"big"}]}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address() as AddressInfo;
  const asked: Record<string, unknown>[] = [];
  const here = createServer((request, response) => {
    asked.push(request.headers);
    response.writeHead(307, { location: `http://127.0.0.1:${port}${request.url}` }).end();
  });
  await new Promise<void>((resolve) => here.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void [here, elsewhere].map((server) => server.close()));
  const url = `http://localhost:${(here.address() as AddressInfo).port}/v1`;
  const gateway = createModelGateway({ url, apiKey: 'sesame', headers: { 'X-Of': 'main' }, model: 'big' });
  await gateway.check();
  const refused = async () => void (await gateway.languageModel().doGenerate({ prompt }));
  await expect(refused()).rejects.toThrow('nothing came');
  expect(asked.length).toBeGreaterThanOrEqual(2);
  for (const headers of asked)
    expect(headers).toMatchObject({ authorization: 'Bearer sesame', 'x-of': 'main' });
  expect(seen.length).toBeGreaterThanOrEqual(2);
  for (const headers of seen) {
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('x-of');
  }
});

it('refuses what is no header, without quoting it, and hides what is secret alone', () => {
  const read = (text: string) => readOptions(table, { env: { LLM_HEADERS: text } });
  for (const text of [
    'X-A: b',
    '["a"]',
    '{"X A": "sesame"}',
    '{"X-A": "sesame\\r\\nX-B: c"}',
    '{"Host": "sesame"}',
    '{"content-length": "sesame"}',
    '{"X-A": 1}',
    '{"X-A": "日本"}',
  ]) {
    expect(() => read(text)).toThrow(/LLM_HEADERS.*JSON object of headers/s);
    expect(() => read(text)).not.toThrow(/sesame/);
  }
  const options = read(
    '{"Authorization": "Bearer sesame-1", "X-Title": "Trunkline", "x-api-key": "sesame-2", "x-portkey-provider": "o"}',
  );
  expect(secretValues(table, options).toSorted()).toEqual(['Bearer sesame-1', 'sesame-1', 'sesame-2']);
  expect(
    requestHeaders.safeParse(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, ''])))
      .success,
  ).toBe(false);
});
