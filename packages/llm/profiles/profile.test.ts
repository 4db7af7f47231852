import { afterEach, describe, expect, it } from 'vitest';
import { listModels, parseEndpoint } from '../endpoint.ts';
import { setUp, stopServers } from '../gateway.suite.ts';
import { createModelGateway } from '../gateway.ts';
import { listenForWaits } from '../retry.ts';
import { endpointKind, isLocalAddress, noteEndpointKind } from './endpoint-kind.ts';
import { costOf, priceOf } from './prices.ts';
import { learn, type ModelProfile, profileOf } from './profile.ts';

describe('profile', () => {
  afterEach(stopServers);

  const at = (url: string, model: string, configured: () => Partial<ModelProfile> = () => ({})) =>
    createModelGateway({ url, model, profiles: configured }).languageModel();

  describe('the kind of an endpoint', () => {
    it.each([
      ['http://127.0.0.1:11434/v1', 'ollama'],
      ['http://gpu.lan:8000/v1', 'vllm'],
      ['http://localhost:8080/v1', 'llamacpp'],
      ['http://192.168.1.5:1234/v1', 'lmstudio'],
      ['http://litellm:4000/v1', 'litellm'],
      ['https://openrouter.ai/api/v1', 'openrouter'],
      ['https://api.openai.com/v1', 'openai'],
      ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini'],
      ['https://api.mistral.ai/v1', 'mistral'],
      ['https://api.anthropic.com/v1', 'anthropic'],
      ['https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1', 'bedrock'],
      ['https://shop.openai.azure.com/openai/v1', 'azure'],
      ['https://models.example.com:8000/v1', 'other'],
      ['https://not-openai.com/v1', 'other'],
    ])('%s is %s', (url, kind) => {
      expect(endpointKind(url)).toBe(kind);
    });

    it('is what the list of models shows, whatever the port', async () => {
      const { server } = await setUp(['Hello']);
      expect(endpointKind(server.url)).toBe('other');
      const answer = { data: [{ id: 'qwen3', owned_by: 'vllm' }] };
      noteEndpointKind(server.url, new Headers(), answer);
      expect(endpointKind(server.url)).toBe('vllm');
      noteEndpointKind(server.url, new Headers({ server: 'llama.cpp' }), undefined);
      expect(endpointKind(server.url)).toBe('llamacpp');
      await listModels(parseEndpoint(server.url, undefined), undefined);
      expect(endpointKind(server.url)).toBe('llamacpp');
    });

    it.each([
      ['http://[::1]:1/v1', true],
      ['http://10.1.2.3/v1', true],
      ['http://ollama:11434', true],
      ['http://nas.local/v1', true],
      ['https://api.example.com/v1', false],
      ['http://8.8.8.8/v1', false],
    ])('%s is local: %s', (url, expected) => {
      expect(isLocalAddress(url)).toBe(expected);
    });
  });

  describe('a profile', () => {
    it('comes from the table', () => {
      expect(profileOf(at('https://api.openai.com/v1', 'gpt-5-mini'))).toMatchObject({
        contextTokens: 400_000,
        images: true,
        omitParameters: expect.arrayContaining(['temperature']),
        price: { input: 0.25 },
      });
      expect(profileOf(at('http://127.0.0.1:11434/v1', 'gemma3:4b'))).toMatchObject({
        tools: 'prompted',
        images: true,
      });
    });

    it('gives a local model more time, and no window by its name alone', () => {
      const local = profileOf(at('http://127.0.0.1:9/v1', 'gpt-4o'));
      const hosted = profileOf(at('https://api.openai.com/v1', 'gpt-4o'));
      expect(local.firstTokenMs).toBeGreaterThan(hosted.firstTokenMs);
      expect(local.contextTokens).toBeUndefined();
    });

    it('is overridden by the configuration, and follows it', () => {
      let configured: Partial<ModelProfile> = { contextTokens: 8192 };
      const model = at('https://api.openai.com/v1', 'gpt-4o', () => configured);
      expect(profileOf(model).contextTokens).toBe(8192);
      configured = { ...configured, idleMs: 7 };
      expect(profileOf(model)).toMatchObject({ contextTokens: 8192, idleMs: 7 });
    });

    it('learns for every gateway to the endpoint, and tells of it once', () => {
      const model = at('http://learner.lan/v1', 'small');
      const notes: string[] = [];
      listenForWaits(
        ({ message }) => notes.push(message),
        () => {
          for (const name of ['stream_options', 'seed', 'seed'])
            learn(model, { omitParameters: [name] }, `without ${name}`);
          learn(model, { tools: 'none', contextTokens: 4096 }, 'no tools');
        },
      );
      expect(notes).toEqual(['without stream_options', 'without seed', 'no tools']);
      const copy = { ...at('http://learner.lan/v1', 'small') };
      expect(profileOf(copy)).toMatchObject({
        omitParameters: ['stream_options', 'seed'],
        tools: 'none',
        contextTokens: 4096,
      });
      const set = at('http://learner.lan/v1', 'small', () => ({ contextTokens: 32_768 }));
      expect(profileOf(set)).toMatchObject({ tools: 'none', contextTokens: 32_768 });
      expect(profileOf(at('http://learner.lan/v1', 'other')).tools).toBe('native');
    });
  });
});

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

it.each([
  ['gpt-4o', 12.5],
  ['openai/gpt-4o-2024-08-06', 12.5],
  ['gpt-4o-2024-05-13', 20],
  ['anthropic/claude-sonnet-4.5', 18],
  ['claude-opus-4-5-20251101', 30],
])('prices %s', (model, dollars) => {
  expect(costOf(priceOf(model), million)).toBeCloseTo(dollars);
});

it.each(['gpt-6', 'gpt-5.9-mini', 'gpt-4o-audio-preview', 'llama3.2:3b', 'my-gpt-4o'])(
  'does not guess for %s',
  (model) => {
    expect(costOf(priceOf(model), million)).toBeUndefined();
  },
);

it('puts the operator before the list, by name and by pattern', () => {
  const prices = {
    'gpt-4o': { input: 1, output: 1 },
    'llama*': { input: 0, output: 0 },
    'a.c': { input: 3, output: 3 },
  };
  expect(priceOf('gpt-4o', prices)).toEqual({ input: 1, output: 1 });
  expect(costOf(priceOf('llama3.2:3b', prices), million)).toBe(0);
  expect(priceOf('abc', prices)).toBeUndefined();
});

it('charges cached input at its own price', () => {
  const price = { input: 2, output: 8, cachedInput: 0.5 };
  expect(costOf(price, { ...million, cachedInputTokens: 400_000 })).toBeCloseTo(1.2 + 0.2 + 8);
});

it('knows no cost without counts, or beyond the length a price covers', () => {
  expect(costOf({ input: 1, output: 1 }, { inputTokens: undefined, outputTokens: 1 })).toBeUndefined();
  expect(
    costOf({ input: 1, output: 1, upToInputTokens: 10 }, { inputTokens: 11, outputTokens: 1 }),
  ).toBeUndefined();
});
