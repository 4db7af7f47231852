import { readSse } from '@trunkline/http';
import {
  type DoorGateway,
  earlierMessages,
  expectShown,
  loadDoorCases,
  loadWire,
  outcomeOf,
  type ShownTurn,
  startDoorGateway,
  startWireServer,
  temporaryDirectory,
  type Wire,
} from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

const home = temporaryDirectory();
let gateway: DoorGateway;
let agent: TestAgent;
beforeAll(async () => {
  gateway = await startDoorGateway(home.path);
  agent = await startAgent({
    home: home.path,
    config: 'subagents: []\nknowledge: { embeddings: "off" }\n',
  });
});
afterAll(async () => {
  await agent.stop();
  await gateway.server.stop();
  home.remove();
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
    const artifacts = frames.flatMap(({ artifact }) => artifact ?? []);
    const textOf = (parts: Part[] = []) => parts.map((part) => part.text ?? part.data?.text ?? '').join('');
    const thoughts = artifacts.filter(({ name }) => name === 'reasoning');
    const answer = artifacts.filter((artifact) => !thoughts.includes(artifact));
    return {
      text: answer.map(({ parts }) => parts.map((part) => part.text ?? '').join('')).join(''),
      failure: last?.state === 'completed' ? undefined : textOf(last?.message?.parts),
      thoughts: thoughts.map(({ parts }) => textOf(parts)).join(''),
      notes: frames
        .flatMap(({ status }) => (status?.state === 'working' ? [textOf(status.message?.parts)] : []))
        .filter((note) => note !== '' && !note.startsWith('Tool ')),
      files: artifacts.flatMap(({ parts }) => parts).filter(({ kind }) => kind === 'file').length,
      runs: JSON.stringify(frames).match(/"phase":"completed"/g)?.length ?? 0,
      raw: JSON.stringify(frames),
      contextId: frames[0]?.contextId,
    };
  }

  it.each(loadDoorCases('A2A'))('shows what $name means: $outcome', async ({ wire, outcome }) => {
    await gateway.open(wire);
    const before: string[] = [];
    let contextId: string | undefined;
    for (const text of earlierMessages(wire)) {
      gateway.fill(wire);
      const filled = await ask(text, contextId);
      expect(filled.failure).toBeUndefined();
      contextId = filled.contextId;
      // Where the window is known, the conversation is compacted before it is refused.
      before.push(...filled.notes);
    }
    gateway.play(wire);
    const got = await ask(wire.ask, contextId);
    expectShown(wire, got);
    expect(got.raw).not.toContain('test-key');
    expect(outcomeOf(wire, { ...got, notes: [...before, ...got.notes] })).toBe(outcome);
  });
});

interface Part {
  kind: string;
  text?: string;
  data?: { text?: string };
}

interface Frame {
  contextId?: string;
  status?: { state: string; message?: { parts: Part[] } };
  artifact?: { name?: string; parts: Part[] };
}

describe('the stream of /v1', () => {
  const historyOf = (wire: Wire) =>
    earlierMessages(wire).flatMap((content) => [
      { role: 'user' as const, content },
      { role: 'assistant' as const, content: 'Noted.' },
    ]);
  /** What the agent says about the call comes beside the thoughts of the model, each on a line of its own. */
  const notePattern = /^.*(is being loaded|were (summarised|left out)|takes no tools|refuses ").*$/gm;
  /** Files stand behind the answer. */
  const linkPattern = /\s*!?\[[^\]]*\]\(\S+\)/g;

  async function ask(content: string, before: ReturnType<typeof historyOf>): Promise<ShownTurn> {
    const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const got = { text: '', thoughts: '' };
    const result = (failure?: string) => {
      const notes = got.thoughts.match(notePattern) ?? [];
      const files = got.text.match(linkPattern)?.length ?? 0;
      const text = got.text.replace(linkPattern, '');
      return { ...got, text, notes, files, ...(failure !== undefined && { failure }) };
    };
    let isFiltered = false;
    try {
      const stream = await client.chat.completions.create({
        model: 'trunkline-agent',
        messages: [...before, { role: 'user', content }],
        stream: true,
      });
      for await (const {
        choices: [choice],
      } of stream) {
        const delta = choice?.delta as { content?: string; reasoning_content?: string } | undefined;
        got.text += delta?.content ?? '';
        got.thoughts += delta?.reasoning_content ?? '';
        isFiltered ||= choice?.finish_reason === 'content_filter';
      }
      return result(isFiltered ? 'content filter' : undefined);
    } catch (error) {
      return result(error instanceof Error ? error.message : String(error));
    }
  }

  it.each(loadDoorCases('/v1'))('shows what $name means: $outcome', async ({ wire, outcome }) => {
    await gateway.open(wire);
    const got = await ask(wire.ask, historyOf(wire));
    expectShown(wire, got);
    expect(outcomeOf(wire, got)).toBe(outcome);
  });
});

/** The first half of the thoughts must be here before the gateway says more. */
it('shows thoughts while they come, also without their opening tag, in the task and in /v1', async () => {
  const wire = loadWire('sglang/long-open-thoughts');
  const server = await startWireServer(wire);
  onTestFinished(() => server.stop());
  const env = { ...modelEnvironment(server.url), LLM_MODEL: wire.model };
  const thinker = await startAgent({ env, config: 'subagents: []\nknowledge: { embeddings: "off" }\n' });
  onTestFinished(() => thinker.stop());

  /** Plays the capture, whose second half waits until enough was shown. */
  function play() {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.play(wire, { silence: () => promise });
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
