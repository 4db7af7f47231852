import { readSse } from '@trunkline/http';
import {
  expectShown,
  loadWire,
  loadWiresForAnyModel,
  type ShownTurn,
  startWireServer,
  type Wire,
  type WireServer,
} from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

/** Two that the model is remembered by come last. */
const wires = [
  ...loadWiresForAnyModel(),
  ...['azure/stream-options-refused', 'ollama/does-not-support-tools'].map(loadWire),
];
const overflows = ['vllm/overflow-flat', 'lmstudio/overflow-event', 'gemini/overflow-array'];

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

  it('says that it waits for a model that is being loaded', async () => {
    const [loading] = loadWire('llamacpp/loading-model').answers;
    const plain = loadWire('ollama/plain');
    const waiting = { ...(loading as Wire['answers'][number]), headers: { 'retry-after': '1' } };
    server.play({ ...plain, answers: [waiting, ...plain.answers] });
    const messages = [{ role: 'user', content: plain.ask }];
    const frames = await (await agent.fetch('/v1/chat/completions', post({ messages, stream: true }))).text();
    expect(frames).toMatch(/"reasoning_content":"[^"]*is being loaded[\s\S]*"content":"[^"]/);
  });

  it.each(overflows)('answers a conversation that %s refuses', async (name) => {
    const wire = loadWire(name);
    server.play(wire);
    expectShown(wire, await ask(wire.ask, history));
  });
});

/** The first half of the thoughts must be here before the gateway says more. */
it('shows thoughts while they come, also without their opening tag, in the task and in /v1', async () => {
  const wire = loadWire('sglang/long-open-thoughts');
  const gateway = await startWireServer(wire);
  onTestFinished(() => gateway.stop());
  const env = { ...modelEnvironment(gateway.url), LLM_MODEL: wire.model };
  const thinker = await startAgent({ env, config: 'subagents: []\nknowledge: { embeddings: "off" }\n' });
  onTestFinished(() => thinker.stop());

  /** Plays the capture, whose second half waits until enough was shown. */
  function play() {
    const { promise, resolve } = Promise.withResolvers<void>();
    gateway.play(wire, { silence: () => promise });
    const shown = { text: '', thoughts: '' };
    return {
      shown,
      show(text: string, thoughts: string) {
        shown.text += text;
        shown.thoughts += thoughts;
        if (shown.thoughts.includes('9.80')) resolve();
      },
    };
  }
  const whole = { text: wire.expect.text, thoughts: expect.stringContaining('so 9.8 wins.') };

  const completion = play();
  const client = new OpenAI({ baseURL: `${thinker.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: wire.ask }];
  for await (const { choices } of await client.chat.completions.create({
    model: '',
    messages,
    stream: true,
  })) {
    const delta = choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
    completion.show(delta?.content ?? '', delta?.reasoning_content ?? '');
  }
  expect(completion.shown).toEqual(whole);

  const task = play();
  const message = { role: 'user', parts: [{ kind: 'text', text: wire.ask }] };
  const request = post({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } });
  const { body } = await thinker.fetch('/a2a', request);
  for await (const { data } of readSse(body as AsyncIterable<Uint8Array>)) {
    const { artifact } = JSON.parse(data).result as ThoughtFrame;
    const [part] = artifact?.parts ?? [];
    if (artifact?.name === 'reasoning') task.show('', part?.data?.text ?? '');
    else task.show(part?.text ?? '', '');
  }
  expect(task.shown).toEqual(whole);
});

interface ThoughtFrame {
  artifact?: { name?: string; parts: { text?: string; data?: { text: string } }[] };
}
