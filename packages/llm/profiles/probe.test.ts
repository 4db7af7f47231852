import { type ScriptedReply, startModelServer } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { createModelGateway } from '../gateway.ts';
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
  ['http://127.0.0.1:11434/v1', 'qwen3', true],
  ['http://127.0.0.1:11434/v1', 'gpt-oss:20b', true],
  ['http://127.0.0.1:11434/v1', 'gpt-oss:120b-cloud', false],
  ['http://127.0.0.1:11434/v1', 'glm-4.6:cloud', false],
  ['http://127.0.0.1:8000/v1', 'Qwen/Qwen3-8B', true],
  ['http://127.0.0.1:8000/v1', 'anthropic/claude-sonnet-4-5', false],
  ['http://127.0.0.1:3000/v1', 'gpt-5', false],
  ['http://127.0.0.1:3000/v1', 'smart', false],
  ['http://127.0.0.1:4000/v1', 'gpt-5', false],
  ['https://api.openai.com/v1', 'gpt-5', false],
  ['https://openrouter.ai/api/v1', 'acme/tiny:free', true],
])('tries %s %s unasked: %s', (url, model, expected) => {
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
