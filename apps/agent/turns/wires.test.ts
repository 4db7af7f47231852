import { readSse } from '@trunkline/http';
import {
  expectShown,
  loadWire,
  type ShownTurn,
  startWireServer,
  type Wire,
  type WireServer,
} from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

/** What makes a difference at a door: words, thoughts, tool calls and failures. Those that the model is remembered by come last. */
const names = [
  'openrouter/plain',
  'azure/plain',
  'gemini/role-model',
  'tgi/whole-json',
  'koboldcpp/no-finish-reason',
  'openai/refusal',
  'ollama/think-tags',
  'openrouter/reasoning',
  'mistral/thinking-parts',
  'vllm/reasoning',
  'ollama/tool-call',
  'koboldcpp/crlf',
  'tgi/arguments-as-object',
  'gemini/tool-call-without-index',
  'llamacpp/tool-call-with-thoughts',
  'ollama/tool-call-tags-in-text',
  'lmstudio/json-fence-tool-call',
  'vllm/python-tag-in-text',
  'vllm/tool-calls-marker-in-text',
  'vllm/kimi-functions-in-text',
  'ollama/empty-answer',
  'ollama/thoughts-only',
  'gemini/malformed-function-call',
  'ollama/same-call-again-and-again',
  'openai/error-in-stream',
  'vllm/flat-error-in-stream',
  'tgi/error-without-space',
  'bedrock/detail-words',
  'proxy/fastapi-validation',
  'ollama/model-not-found',
  'ollama/empty-for-good',
  'openai/content-filter',
  'azure/prompt-filtered',
  'azure/stream-options-refused',
  'ollama/does-not-support-tools',
];
const overflows = ['vllm/overflow-flat', 'lmstudio/overflow-event', 'gemini/overflow-array'];
const wires = names.map(loadWire);

const long = (number: number) => `Part ${number}: ${'lorem ipsum dolor sit amet '.repeat(150)}`;

let server: WireServer;
let agent: TestAgent;
beforeAll(async () => {
  server = await startWireServer({ ...(wires[0] as Wire), path: '/v1' });
  const env = { ...modelEnvironment(server.url), LLM_MODEL: 'qwen2.5:7b' };
  agent = await startAgent({ env, config: 'subagents: []\nknowledge: { embeddings: "off" }\n' });
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
});

describe('the stream of a task', () => {
  async function ask(text: string, contextId?: string) {
    const message = { role: 'user', parts: [{ kind: 'text', text }], ...(contextId && { contextId }) };
    const request = post({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } });
    const { body } = await agent.fetch('/a2a', request);
    const frames: Frame[] = [];
    for await (const { data } of readSse(body as AsyncIterable<Uint8Array>))
      frames.push(JSON.parse(data).result);
    const last = frames.at(-1)?.status;
    const parts = frames.flatMap(({ artifact }) => artifact?.parts ?? []);
    return {
      text: parts.map((part) => part.text ?? '').join(''),
      failure:
        last?.state === 'completed' ? undefined : last?.message?.parts.map((part) => part.text).join(''),
      raw: JSON.stringify(frames),
      contextId: frames[0]?.contextId ?? '',
    };
  }

  it.each(wires)('shows what $name means', async (wire) => {
    server.play(wire);
    const got = await ask(wire.ask);
    expectShown(wire, got);
    expect(got.raw).not.toContain('test-key');
    if (wire.expect.reasoning !== undefined) expect(got.raw).toContain(wire.expect.reasoning.slice(0, 12));
    const ran = got.raw.match(/"phase":"completed"/g)?.length ?? 0;
    if (wire.expect.calls !== undefined) expect(ran).toBe(wire.expect.calls.length);
    if (wire.expect.runsAtMost !== undefined) expect(ran).toBeLessThanOrEqual(wire.expect.runsAtMost);
  });

  it.each(overflows)('compacts a conversation that %s refuses, and says so', async (name) => {
    const wire = loadWire(name);
    const filler = loadWire('ollama/plain');
    let got = { contextId: undefined as string | undefined, raw: '' };
    // Once a window is known, the conversation is compacted before it is refused.
    let seen = '';
    for (let number = 0; number < 6; number += 1) {
      server.play(filler);
      got = await ask(long(number), got.contextId);
      seen += got.raw;
    }
    server.play(wire);
    const last = await ask(wire.ask, got.contextId);
    expectShown(wire, last);
    expect(seen + last.raw).toMatch(/compact|shorten|summar/i);
  });
});

interface Frame {
  contextId?: string;
  status?: { state: string; message?: { parts: { text?: string }[] } };
  artifact?: { parts: { text?: string }[] };
}

describe('the stream of /v1', () => {
  const history = Array.from({ length: 6 }, (_, number) => [
    { role: 'user' as const, content: long(number) },
    { role: 'assistant' as const, content: 'Noted.' },
  ]).flat();

  async function ask(content: string, before: typeof history = []): Promise<ShownTurn> {
    const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const got: ShownTurn = { text: '' };
    try {
      const stream = await client.chat.completions.create({
        model: 'trunkline-agent',
        messages: [...before, { role: 'user', content }],
        stream: true,
      });
      for await (const chunk of stream) {
        const [choice] = chunk.choices;
        got.text += choice?.delta.content ?? '';
        if (choice?.finish_reason === 'content_filter') got.failure = 'content filter';
      }
      return got;
    } catch (error) {
      return { ...got, failure: error instanceof Error ? error.message : String(error) };
    }
  }

  it.each(wires)('shows what $name means', async (wire) => {
    server.play(wire);
    expectShown(wire, await ask(wire.ask));
  });

  it.each(overflows)('answers a conversation that %s refuses', async (name) => {
    const wire = loadWire(name);
    server.play(wire);
    expectShown(wire, await ask(wire.ask, history));
  });
});
