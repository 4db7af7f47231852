import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import {
  jsonSchema,
  type LanguageModelCallEndEvent,
  type ModelMessage,
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  type ToolSet,
} from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CallEnd, type CallPart, callModel, plainPrompt } from './model-call.ts';

type Part = LanguageModelV4StreamPart;

const tools: ToolSet = {
  add: { description: 'Adds.', inputSchema: jsonSchema({ type: 'object', properties: {} }) },
  plain: { inputSchema: jsonSchema({ type: 'object' }) },
};

const usage = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: undefined },
  outputTokens: { total: 7, text: 4, reasoning: 3 },
};
const finish: Part = { type: 'finish', finishReason: { unified: 'stop', raw: 'done' }, usage };

interface Heard {
  asked: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'toolChoice'>;
  said: object[];
  end: CallEnd | undefined;
}

function modelOf(parts: readonly Part[]): MockLanguageModelV4 {
  const stream = new ReadableStream<Part>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return new MockLanguageModelV4({ modelId: 'asked-for', doStream: async () => ({ stream }) });
}

function askedOf({ doStreamCalls }: MockLanguageModelV4): Heard['asked'] {
  const [{ prompt, tools: offered, toolChoice } = {}] =
    doStreamCalls as Partial<LanguageModelV4CallOptions>[];
  return { prompt: prompt ?? [], tools: offered ?? [], ...(toolChoice && { toolChoice }) };
}

/** What the SDK adds for its own loop is left out. */
function gist(part: object): object {
  const { type, text, toolCallId, toolName, input, invalid, providerMetadata } = part as Record<
    string,
    unknown
  >;
  if (type === 'tool-call') return { type, toolCallId, toolName, input, invalid, providerMetadata };
  if (type === 'text-delta' || type === 'reasoning-delta') return { type, text };
  if ('file' in part) {
    const { base64, mediaType } = part.file as { base64: string; mediaType: string };
    return { type, base64, mediaType, providerMetadata };
  }
  return part;
}

function endOf({ content, finishReason, modelId, usage: counted }: CallEnd) {
  return { content: content.map(gist), finishReason, modelId, usage: counted } as unknown as CallEnd;
}

async function bySdk(instructions: string, messages: ModelMessage[], parts: readonly Part[]): Promise<Heard> {
  const model = modelOf(parts);
  const ends: LanguageModelCallEndEvent<ToolSet>[] = [];
  const { stream } = await streamLanguageModelCall({
    model,
    messages,
    tools,
    onLanguageModelCallEnd: (end) => void ends.push(end),
    ...(instructions !== '' && { instructions }),
  });
  const said: object[] = [];
  for await (const part of stream)
    if (['text-delta', 'reasoning-delta', 'tool-call', 'error'].includes(part.type)) said.push(gist(part));
  const end = ends.at(-1);
  return { asked: askedOf(model), said, end: end && endOf(end) };
}

async function byOurs(
  instructions: string,
  messages: ModelMessage[],
  parts: readonly Part[],
): Promise<Heard> {
  const model = modelOf(parts);
  const prompt = plainPrompt(instructions, messages);
  if (prompt === undefined) throw new Error('The conversation is not plain.');
  const heard: CallPart[] = [];
  const { signal } = new AbortController();
  for await (const some of await callModel({ model, prompt, tools, signal })) heard.push(...some);
  const end = heard.findLast((part) => part.type === 'end')?.end;
  return {
    asked: askedOf(model),
    said: heard.filter(({ type }) => type !== 'end').map(gist),
    end: end && endOf(end),
  };
}

const marks = fc.option(fc.constant({ vendor: { signature: 'abc' } }), { nil: undefined });
const words = fc.constantFrom('', 'Hello.', ' ', 'twelve\ntimes', '{"a":1}');
const id = fc.constantFrom('1', '2');

const textGiven = fc.record({ type: fc.constant('text' as const), text: words });
const exchange = fc
  .record({
    asked: fc.oneof(words, fc.array(textGiven, { minLength: 1, maxLength: 3 })),
    thought: fc.option(words),
    said: words,
    signed: marks,
    calls: fc.integer({ min: 0, max: 2 }),
    isTogether: fc.boolean(),
    failed: fc.boolean(),
    answer: words,
  })
  .map(({ asked, thought, said, signed, calls, isTogether, failed, answer }): ModelMessage[] => {
    const ids = Array.from({ length: calls }, (_, index) => `call-${index}`);
    const results = ids.map((toolCallId) => ({
      type: 'tool-result' as const,
      toolCallId,
      toolName: 'add',
      output: failed
        ? { type: 'error-text' as const, value: 'no' }
        : { type: 'json' as const, value: { sum: 3 } },
    }));
    return [
      { role: 'user', content: asked },
      {
        role: 'assistant',
        content: [
          ...(thought === null ? [] : [{ type: 'reasoning' as const, text: thought }]),
          { type: 'text', text: said, ...(signed && { providerOptions: signed }) },
          ...ids.map((toolCallId) => ({
            type: 'tool-call' as const,
            toolCallId,
            toolName: 'add',
            input: { a: 1 },
            ...(signed && { providerOptions: signed }),
          })),
        ],
      },
      ...(isTogether
        ? [{ role: 'tool' as const, content: results }]
        : results.map((result) => ({ role: 'tool' as const, content: [result] }))),
      ...(calls > 0 ? [{ role: 'assistant' as const, content: answer }] : []),
    ];
  });

const partsSaid = fc.array(
  fc.oneof(
    fc.record({
      type: fc.constantFrom('text-start', 'text-end', 'reasoning-start', 'reasoning-end'),
      id,
      providerMetadata: marks,
    }),
    fc.record({
      type: fc.constantFrom('text-delta', 'reasoning-delta'),
      id,
      delta: words,
      providerMetadata: marks,
    }),
    fc.record({
      type: fc.constant('tool-call'),
      toolCallId: id,
      toolName: fc.constantFrom('add', 'plain', 'unknown', 'toString', '__proto__'),
      input: fc.constantFrom(
        '',
        ' ',
        '{}',
        '{"a":[1,{"b":null}]}',
        '"text"',
        '12',
        'null',
        '{"a":',
        '{"__proto__":{"a":1}}',
        '{"\\u005f_proto__":{"a":1}}',
        '[{"constructor":{"prototype":{}}}]',
        '{"constructor":"works"}',
        '{"text":"__proto__ \\u00e9"}',
      ),
      providerMetadata: marks,
    }),
    fc.constant({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGVsbG8=' } }),
    fc.constant({ type: 'source', sourceType: 'url', id: 's', url: 'https://example.org/', title: 'Page' }),
    fc.constant({ type: 'response-metadata', modelId: 'that-answered' }),
    fc.constant({ type: 'tool-input-start', id: '1', toolName: 'add' }),
    fc.constant({ type: 'tool-input-delta', id: '1', delta: '{' }),
    fc.constant({ type: 'error', error: new Error('broken') }),
  ),
  { maxLength: 12 },
) as unknown as fc.Arbitrary<Part[]>;

describe('a call of a model without the SDK', () => {
  it('asks as the SDK does', async () => {
    const conversations = fc.array(exchange, { minLength: 1, maxLength: 3 }).map((all) => all.flat());
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('', 'Be brief.'), conversations, async (instructions, messages) => {
        const { asked } = await byOurs(instructions, messages, [finish]);
        expect(asked).toEqual((await bySdk(instructions, messages, [finish])).asked);
      }),
      { numRuns: 200 },
    );
  });

  it('reads the answer as the SDK does', async () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'Hello' }];
    await fc.assert(
      fc.asyncProperty(partsSaid, fc.boolean(), async (parts, isWhole) => {
        const answer = isWhole ? [...parts, finish] : parts;
        const [ours, theirs] = await Promise.all([byOurs('', messages, answer), bySdk('', messages, answer)]);
        expect(ours).toEqual(theirs);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, ModelMessage[]]>([
    ['nothing', []],
    ['a system message', [{ role: 'system', content: 'Obey.' }]],
    ['a file', [{ role: 'user', content: [{ type: 'file', data: 'aGVsbG8=', mediaType: 'image/png' }] }]],
    [
      'a call without its result',
      [
        { role: 'user', content: 'Add.' },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'add', input: {} }] },
        { role: 'user', content: 'And?' },
      ],
    ],
  ])('leaves a conversation with %s to the SDK', (_what, messages) => {
    expect(plainPrompt('Be brief.', messages)).toBeUndefined();
  });

  it('ends the request when its reader stops', async () => {
    const cancelled: unknown[] = [];
    const stream = new ReadableStream<Part>({
      pull: (controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'on and on' }),
      cancel: (reason) => void cancelled.push(reason),
    });
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream }) });
    const prompt = plainPrompt('', [{ role: 'user', content: 'Hello' }]) ?? [];
    const { signal } = new AbortController();
    for await (const parts of await callModel({ model, prompt, tools, signal })) if (parts.length > 0) break;
    expect(cancelled).toHaveLength(1);
  });

  it('ends the request where it cannot read a part', async () => {
    const cancelled: unknown[] = [];
    const data = { type: 'url' as const, url: new URL('https://example.org/picture.png') };
    const stream = new ReadableStream<Part>({
      pull: (controller) => controller.enqueue({ type: 'file', mediaType: 'image/png', data }),
      cancel: (reason) => void cancelled.push(reason),
    });
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream }) });
    const prompt = plainPrompt('', [{ role: 'user', content: 'Hello' }]) ?? [];
    const { signal } = new AbortController();
    const parts = await callModel({ model, prompt, tools, signal });
    await expect(parts.next()).rejects.toThrow('is given as url');
    expect(cancelled).toHaveLength(1);
  });
});
