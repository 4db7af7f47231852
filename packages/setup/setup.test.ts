import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger, secretStoreOf } from '@trunkline/config';
import { ModelsFile } from '@trunkline/llm';
import { loadWires, startModelServer, startWireServer, temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  completeUrl,
  findGateways,
  isModelSecret,
  listModels,
  Setup,
  type SetupOptions,
  testModel,
} from './index.ts';

const signal = new AbortController().signal;
const logger = createLogger({ name: 'test', destination: { write: () => undefined } });

async function play(name: string, routes: Record<string, unknown> = {}) {
  const wire = loadWires().find((each) => each.name === name);
  if (wire === undefined) throw new Error(`there is no capture ${name}`);
  const server = await startWireServer({ ...wire, routes: { ...wire.routes, ...routes } });
  onTestFinished(() => server.stop());
  return { server, url: server.url, port: Number(new URL(server.url).port) };
}

describe('findGateways', () => {
  it('tells model servers apart by what they alone answer, whatever their port', async () => {
    const vllmList = { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', object: 'model', owned_by: 'vllm' }] };
    const [ollama, studio, llama, vllm] = await Promise.all([
      play('ollama/silent-cut-default'),
      play('lmstudio/window-of-models'),
      play('llamacpp/window-of-props'),
      play('vllm/plain', { 'GET /version': { version: '0.11.0' }, 'GET /v1/models': vllmList }),
    ]);
    // The limit for people who wait is short for a busy machine.
    const ports = [vllm.port, llama.port, studio.port, ollama.port];
    const found = await findGateways(signal, ports, 60_000);
    expect(found.map(({ kind, url, models }) => [kind, url, models])).toEqual([
      ['vllm', vllm.url, ['Qwen/Qwen3-8B']],
      ['llamacpp', llama.url, ['qwen2.5-7b-instruct']],
      ['lmstudio', studio.url, ['qwen2.5-7b-instruct-1m']],
      ['ollama', ollama.url, ['qwen3:14b']],
    ]);
  });

  it('leaves out closed ports and other programs, names one that wants a key, and can be stopped', async () => {
    const page = createServer((_request, response) => response.end('<html>a page</html>'));
    const locked = createServer((_request, response) =>
      response.writeHead(401, { server: 'llama.cpp' }).end('{}'),
    );
    const ports: number[] = [];
    for (const server of [page, locked]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      ports.push((server.address() as AddressInfo).port);
    }
    const closed = await play('vllm/plain');
    await closed.server.stop();
    const found = await findGateways(signal, [...ports, closed.port], 60_000);
    expect(found).toMatchObject([{ kind: 'llamacpp', models: [], needsKey: true }]);
    await expect(findGateways(AbortSignal.abort(), ports)).rejects.toThrow('abort');
  });
});

it.each([
  ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/v1'],
  ['http://127.0.0.1:11434/v1/', 'http://127.0.0.1:11434/v1'],
  ['openrouter.ai', 'https://openrouter.ai/api/v1'],
  ['https://generativelanguage.googleapis.com', 'https://generativelanguage.googleapis.com/v1beta/openai'],
  ['https://<resource>.openai.azure.com/openai/v1', undefined],
  ['ftp://example.com', undefined],
  ['', undefined],
])('completes the address %s', (given, expected) => {
  expect(completeUrl(given)).toBe(expected);
});

describe('testModel', () => {
  it('says what a model can do and how fast it is', async () => {
    const server = await startModelServer({
      script: ({ tools, messages }) => {
        if (tools !== undefined) return { toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] };
        return JSON.stringify(messages).includes('image_url')
          ? 'Red.'
          : '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16';
      },
    });
    onTestFinished(() => server.stop());
    const tested = await testModel({ url: server.url, model: 'tried' }, signal);
    expect(tested).toMatchObject({ ok: true, summary: expect.stringContaining('calls tools, sees images') });
    expect(tested.findings.map(({ subject, ok }) => [subject, ok])).toEqual([
      ['answer', true],
      ['context', false],
      ['tools', true],
      ['images', true],
    ]);
    expect(tested.firstTokenMs).toBeGreaterThan(0);
  });

  it.each([
    ['a key that is refused', { fault: 'status', status: 401 } as const, 'refuses the key'],
    ['no credit', { fault: 'status', status: 402 } as const, 'no credit left'],
    ['a rate limit', { fault: 'status', status: 429 } as const, 'limits the rate'],
  ])('says in words: %s', async (_name, reply, words) => {
    const server = await startModelServer({ script: () => reply });
    onTestFinished(() => server.stop());
    const tested = await testModel({ url: server.url, apiKey: 'sesame-open', model: 'tried' }, signal);
    expect(tested).toMatchObject({ ok: false, summary: expect.stringContaining(words) });
    expect(tested.summary).not.toMatch(/LLM_|sesame/);
  });

  it('names the models that are there when the one asked for is not', async () => {
    const listed = { object: 'list', data: [{ id: 'qwen3:14b', object: 'model', owned_by: 'library' }] };
    const { url } = await play('ollama/model-not-found', { 'GET /v1/models': listed });
    const { summary } = await testModel({ url, model: 'qwen9' }, signal);
    expect(summary).toMatch(/knows no model "qwen9". It offers qwen3:14b/);
  });

  it('says that a server still loads the model, that nothing answers, and that an address is none', async () => {
    const loading = await play('llamacpp/loading-model');
    const busy = await testModel({ url: loading.url, model: 'any' }, signal, 0);
    expect(busy.summary).toContain('still loading');
    await loading.server.stop();
    const gone = await testModel({ url: loading.url, model: 'any' }, signal);
    expect(gone.summary).toMatch(/^Nothing answers at 127/);
    expect((await testModel({ url: 'https://<region>.x', model: 'any' }, signal)).summary).toContain(
      'Fill in',
    );
  });
});

it('lists models, and says why it cannot', async () => {
  const { url } = await play('ollama/silent-cut-default');
  expect(await listModels({ url: url.replace('/v1', '') }, signal)).toEqual({
    ok: true,
    url,
    models: ['qwen3:14b'],
  });
  const empty = await play('ollama/plain', { 'GET /v1/models': { data: [] } });
  expect((await listModels({ url: empty.url }, signal)).problem).toContain('offers no model');
});

function openSetup(options: Partial<SetupOptions> = {}) {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const env = { TRUNKLINE_HOME: home.path };
  const unset = {
    llmGatewayUrl: undefined,
    llmModel: undefined,
    llmFastModel: undefined,
    llmJudgeModel: undefined,
    llmVisionModel: undefined,
    llmGguf: undefined,
  };
  const secrets = secretStoreOf(env);
  const setup = new Setup({
    options: { trunklineHome: home.path, ...unset, ...options },
    secrets,
    env,
    logger,
  });
  const file = join(home.path, 'models.yaml');
  return { home: home.path, setup, secrets, env, file, text: () => readFileSync(file, 'utf8') };
}

describe('Setup', () => {
  it('saves models by role with comments kept, and keys as secrets that go when nothing refers to them', async () => {
    const { home, setup, secrets, env, file, text } = openSetup();
    writeFileSync(file, '# mine\nmodels: { "qwen*": { images: false } } # blind\n');
    const url = 'https://api.openai.com/v1';
    await setup.save({
      role: 'chat',
      model: 'gpt-5-mini',
      url: 'https://api.openai.com',
      apiKey: 'sesame-one',
    });
    await setup.save({ role: 'judge', model: 'gpt-5', url });
    await setup.save({ role: 'helper', model: 'gpt-5-nano' });
    expect(text()).toContain('# mine');
    expect(text()).toContain('# blind');
    expect(text()).not.toContain('sesame');
    const names = secrets.list().map(({ name }) => name);
    expect(names).toMatchObject([expect.stringMatching(/^model-api\.openai\.com-/)]);
    expect(names.every(isModelSecret)).toBe(true);
    const models = new ModelsFile({ home, env });
    expect(models.role('chat')).toEqual({ model: 'gpt-5-mini', url, api_key: 'sesame-one' });
    expect(models.role('judge')).toEqual({ model: 'gpt-5', url, api_key: 'sesame-one' });
    expect(models.role('helper')).toEqual({ model: 'gpt-5-nano' });
    const view = await setup.view('voice');
    expect(view.roles.chat).toEqual({ model: 'gpt-5-mini', url, hasKey: true });
    expect(view.steps).toMatchObject({ model: 'done', speech: 'open' });
    expect(JSON.stringify(view)).not.toContain('sesame');

    await setup.save({ role: 'judge', model: null });
    await setup.save({ role: 'chat', model: 'qwen3', url: 'http://127.0.0.1:11434/v1' });
    expect(secrets.list()).toEqual([]);
    expect(new ModelsFile({ home, env }).role('chat')).toEqual({
      model: 'qwen3',
      url: 'http://127.0.0.1:11434/v1',
    });
  });

  it('keeps what the test of a model found when it is saved, and of no other', async () => {
    const { home, setup, env, file, text } = openSetup();
    writeFileSync(file, '# mine\nmodels: { "tried": { context_tokens: 9000 } }\n');
    const server = await startModelServer({
      script: ({ tools, messages }) => {
        if (tools !== undefined)
          return { fault: 'status', status: 400, message: 'registry.ollama.ai/tried does not support tools' };
        return JSON.stringify(messages).includes('image_url') ? 'I cannot tell.' : '1 2 3';
      },
    });
    onTestFinished(() => server.stop());
    const tested = await setup.test({ url: server.url, model: 'tried' }, signal);
    expect(tested).not.toHaveProperty('facts');
    expect(tested.ok).toBe(true);
    await setup.save({ role: 'chat', model: 'untried', url: server.url });
    expect(text()).not.toContain('tools');
    await setup.save({ role: 'chat', model: 'tried', url: server.url.replace('/v1', '') });
    expect(new ModelsFile({ home, env }).profile('tried')).toEqual({
      contextTokens: 9000,
      tools: 'prompted',
      images: false,
    });
    expect(text()).toContain('# mine');
    // What was set by hand stays, and with it what stands beside it.
    await setup.save({ role: 'chat', model: null });
    expect(text()).toContain('context_tokens: 9000');
  });

  it('sends a stored key to its own address alone', async () => {
    const { setup } = openSetup();
    const [known, other] = await Promise.all([
      play('ollama/silent-cut-default'),
      play('ollama/silent-cut-default'),
    ]);
    await setup.save({ role: 'chat', model: 'qwen3:14b', url: known.url, apiKey: 'sesame-two' });
    expect((await setup.list({ url: known.url }, signal)).ok).toBe(true);
    await setup.list({ url: other.url }, signal);
    expect(known.server.requests[0]?.headers.authorization).toBe('Bearer sesame-two');
    expect(other.server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('refuses what cannot be used, and changes nothing', async () => {
    const { setup, home } = openSetup();
    await expect(setup.save({ role: 'chat', model: 'a' })).rejects.toThrow('needs an address');
    await expect(setup.save({ role: 'chat', model: 'a', url: 'ftp://b' })).rejects.toThrow('no address');
    await expect(setup.save({ role: 'chat', file: join(home, 'none.gguf') })).rejects.toThrow(
      'There is no file',
    );
    expect((await setup.test({ file: join(home, 'none.gguf') }, signal)).summary).toContain(
      'There is no file',
    );
    expect((await setup.view('voice')).steps.model).toBe('open');
  });

  it('remembers steps, and says which settings win', async () => {
    const { setup } = openSetup({ llmGatewayUrl: 'http://127.0.0.1:1/v1', llmUrl: 'http://127.0.0.1:2/v1' });
    await setup.setSteps({ steps: { speech: 'skipped', search: 'done' } });
    await setup.setSteps({ steps: { search: 'open' }, result: 'digest' });
    const { steps, result, overrides } = await setup.view('voice');
    expect(steps).toEqual({
      model: 'done',
      speech: 'skipped',
      search: 'open',
      connector: 'open',
      result: 'open',
    });
    expect(result).toBe('digest');
    expect(overrides.map(({ setting }) => setting)).toEqual(['LLM_GATEWAY_URL', 'LLM_URL']);
  });
});
