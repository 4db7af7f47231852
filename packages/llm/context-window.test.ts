import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { contextWindowOf, learnContextWindow } from './context-window.ts';
import { createModelGateway } from './gateway.ts';
import type { ModelGatewayOptions } from './gateway-options.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Routes = Record<string, unknown>;

/** A gateway that has these routes and no others. */
async function serve(routes: Routes) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    asked.push(route);
    const body = routes[route];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'not found' }));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = (more: ModelGatewayOptions = {}) =>
    createModelGateway({ url: `${origin}/v1`, model: 'qwen3:8b', ...more }).languageModel();
  return { asked, model: gateway(), gateway };
}

const list = (entry: object) => ({ object: 'list', data: [{ id: 'qwen3:8b', object: 'model', ...entry }] });
const shown = (parameters: string) => ({
  'GET /v1/models': list({ owned_by: 'library' }),
  'POST /api/show': {
    parameters,
    model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': 40_960 },
    capabilities: ['completion', 'tools'],
  },
});
const running = (model: object) => ({ models: [{ name: 'qwen3:8b', model: 'qwen3:8b', ...model }] });

it.each<[string, Routes, number | undefined]>([
  ['vLLM', { 'GET /v1/models': list({ owned_by: 'vllm', max_model_len: 8192 }) }, 8192],
  ['OpenRouter', { 'GET /v1/models': list({ context_length: 131_072 }) }, 131_072],
  ['Groq', { 'GET /v1/models': list({ context_window: 32_768 }) }, 32_768],
  ['Ollama with num_ctx', shown('stop "<|im_end|>"\nnum_ctx                        16384'), 16_384],
  ['Ollama with a num_ctx beyond what the model was made for', shown('num_ctx 100000'), 40_960],
  ['Ollama with its default', shown('temperature 0.6'), 4096],
  [
    'Ollama with a loaded model',
    { ...shown('num_ctx 16384'), 'GET /api/ps': running({ context_length: 32_768 }) },
    32_768,
  ],
  [
    'LM Studio',
    {
      'GET /v1/models': list({ owned_by: 'organization_owner' }),
      'GET /api/v0/models': list({
        state: 'loaded',
        max_context_length: 32_768,
        loaded_context_length: 6000,
      }),
    },
    6000,
  ],
  [
    'llama.cpp',
    {
      'GET /v1/models': list({ owned_by: 'llamacpp', meta: { n_ctx_train: 40_960 } }),
      'GET /props': { default_generation_settings: { n_ctx: 5120 }, total_slots: 4 },
    },
    5120,
  ],
  [
    'LiteLLM with two deployments',
    {
      'GET /v1/models': list({ owned_by: 'openai' }),
      'GET /model/info': {
        data: [
          { model_name: 'qwen3:8b', model_info: { max_input_tokens: 128_000, max_tokens: 4096 } },
          { model_name: 'qwen3:8b', model_info: { max_input_tokens: 64_000 } },
          { model_name: 'other', model_info: { max_input_tokens: 1000 } },
        ],
      },
    },
    64_000,
  ],
  ['an endpoint that says nothing', { 'GET /v1/models': list({}) }, undefined],
  ['an endpoint that lists nonsense', { 'GET /v1/models': { data: [{ max_model_len: 'many' }] } }, undefined],
])('is known of %s', async (_name, routes, tokens) => {
  const { model } = await serve(routes);
  await expect.poll(() => contextWindowOf(model)).toBe(tokens);
});

it('is asked once, and again only for a model that was not loaded yet', async () => {
  const settled = await serve(shown('num_ctx 16384'));
  await expect.poll(() => contextWindowOf(settled.model)).toBe(16_384);
  const { length } = settled.asked;
  expect(await contextWindowOf(settled.gateway())).toBe(16_384);
  expect(settled.asked).toHaveLength(length);
  const routes: Routes = shown('');
  const { model } = await serve(routes);
  await expect.poll(() => contextWindowOf(model)).toBe(4096);
  routes['GET /api/ps'] = running({ context_length: 24_000 });
  await expect.poll(() => contextWindowOf(model)).toBe(24_000);
});

it('is taken from the configuration first, and nothing is asked then', async () => {
  const { asked, gateway } = await serve(shown('num_ctx 16384'));
  const model = gateway({ profiles: () => ({ contextTokens: 12_000 }) });
  expect(await contextWindowOf(model)).toBe(12_000);
  learnContextWindow(model, 6000);
  expect(await contextWindowOf(model)).toBe(12_000);
  expect(asked).toEqual([]);
});

it('is never more than an error has named', async () => {
  const { model } = await serve({ 'GET /v1/models': list({ max_model_len: 8192 }) });
  await expect.poll(() => contextWindowOf(model)).toBe(8192);
  learnContextWindow(model, 6000);
  expect(await contextWindowOf(model)).toBe(6000);
});

it('does not hold up the caller of an endpoint that does not answer', async () => {
  const held = createServer(() => undefined);
  servers.push(held);
  held.listen(0, '127.0.0.1');
  await once(held, 'listening');
  const url = `http://127.0.0.1:${(held.address() as AddressInfo).port}/v1`;
  const model = createModelGateway({ url, model: 'm' }).languageModel();
  expect(await contextWindowOf(model)).toBeUndefined();
  expect(await contextWindowOf(createModelGateway({}).languageModel())).toBeUndefined();
});
