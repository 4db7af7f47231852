import { type ScriptedReply, startModelServer } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { createModelGateway } from '../gateway.ts';
import { noteEndpointKind } from './endpoint-kind.ts';
import { isFree, probeModel } from './probe.ts';

async function probe(reply: (asked: 'text' | 'tool' | 'image') => ScriptedReply) {
  const server = await startModelServer({
    script: ({ tools, messages }) => {
      const isImage = JSON.stringify(messages).includes('image_url');
      return reply(tools !== undefined ? 'tool' : isImage ? 'image' : 'text');
    },
  });
  try {
    const model = createModelGateway({ url: server.url, model: 'tried', maxRetries: 0 }).languageModel();
    return await probeModel(model, AbortSignal.timeout(60_000));
  } finally {
    await server.stop();
  }
}

const call: ScriptedReply = { toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] };

it('finds what a model can do', async () => {
  const { findings, facts } = await probe((asked) => (asked === 'tool' ? call : 'Red.'));
  expect(findings.map(({ subject, ok }) => [subject, ok])).toEqual([
    ['answer', true],
    ['context', false],
    ['tools', true],
    ['images', true],
  ]);
  expect(facts).toEqual({ tools: 'native', images: true });
});

it('finds what it cannot', async () => {
  const refused = {
    fault: 'status',
    status: 400,
    message: 'this model does not support image input',
  } as const;
  const { findings, facts } = await probe((asked) => (asked === 'image' ? refused : 'It rains in Oslo.'));
  expect(findings.slice(2)).toMatchObject([
    { subject: 'tools', ok: false, words: expect.stringContaining('did not call') },
    { subject: 'images', ok: false, words: 'sees no images' },
  ]);
  expect(facts).toEqual({ images: false });
});

it('says why nothing could be tried', async () => {
  const { findings, facts } = await probe(() => ({ fault: 'status', status: 401 }));
  expect(findings).toMatchObject([
    { subject: 'answer', ok: false, words: expect.stringContaining('LLM_API_KEY') },
  ]);
  expect(facts).toEqual({});
});

it.each([
  ['http://127.0.0.1:11434/v1', 'qwen3', ['library'], true],
  ['http://127.0.0.2:11434/v1', 'gpt-oss:20b', ['library', 'hf-user'], true],
  ['http://127.0.0.3:11434/v1', 'gpt-oss:120b-cloud', ['library'], false],
  ['http://127.0.0.4:11434/v1', 'glm-4.6:cloud', ['library'], false],
  ['http://127.0.0.1:8000/v1', 'Qwen/Qwen3-8B', ['vllm'], true],
  ['http://127.0.0.2:8000/v1', 'anthropic/claude-sonnet-4-5', ['vllm'], false],
  // Kong and Bifrost listen where vLLM and llama.cpp do.
  ['http://127.0.0.3:8000/v1', 'smart', [], false],
  ['http://127.0.0.1:8080/v1', 'deepseek-chat', ['openai'], false],
  ['http://127.0.0.2:8080/v1', 'own', ['vllm', 'anthropic'], false],
  ['http://127.0.0.3:8080/v1', 'qwen3', ['llamacpp'], true],
  ['http://127.0.0.1:1234/v1', 'us.anthropic.claude-sonnet-4', [], false],
  ['http://127.0.0.1:3000/v1', 'gpt-5', [], false],
  ['http://127.0.0.2:3000/v1', 'smart', [], false],
  ['http://127.0.0.1:4000/v1', 'gpt-5', [], false],
  ['https://api.openai.com/v1', 'gpt-5', [], false],
  ['https://gpu.example.org/v1', 'own', ['vllm'], false],
  ['https://openrouter.ai/api/v1', 'acme/tiny:free', [], true],
])('tries %s %s of %j unasked: %s', (url, model, owners, expected) => {
  noteEndpointKind(url, new Headers(), { data: owners.map((owned_by) => ({ id: model, owned_by })) });
  expect(isFree(createModelGateway({ url, model }).languageModel())).toBe(expected);
});

it('takes the word of whoever names a price, also for an address nearby', () => {
  const at = (input: number) =>
    createModelGateway({
      url: 'http://127.0.0.1:11434/v1',
      model: 'qwen3:free',
      profiles: () => ({ price: { input, output: input } }),
    }).languageModel();
  expect([isFree(at(0.5)), isFree(at(0))]).toEqual([false, true]);
});
