import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callOptions, everyTool, schemaOf } from './demo.suite.ts';
import { createDemoModel } from './model.ts';

const model = createDemoModel({ now: () => new Date('2026-03-04T10:00:00Z') });
const calculator = { type: 'function' as const, name: 'calculator', inputSchema: schemaOf('calculator') };

async function partsOf(options = callOptions('hello')): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(options);
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function textOf(parts: LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
}

describe('the stream', () => {
  it('comes word by word and holds the same as the whole', async () => {
    const parts = await partsOf();
    const { content, usage, finishReason } = await model.doGenerate(callOptions('hello'));
    expect(parts.filter((part) => part.type === 'text-delta').length).toBeGreaterThan(5);
    expect(content).toEqual([{ type: 'text', text: textOf(parts) }]);
    expect(parts.at(-1)).toEqual({ type: 'finish', usage, finishReason });
  });

  it('names the model and estimates usage', async () => {
    const parts = await partsOf();
    expect(model.modelId).toBe('trunkline-demo');
    expect(parts).toContainEqual(
      expect.objectContaining({ type: 'response-metadata', modelId: 'trunkline-demo' }),
    );
    expect(parts.at(-1)).toMatchObject({
      usage: { outputTokens: { total: Math.ceil(textOf(parts).length / 4) } },
    });
  });

  it('is the same for the same request, with other call ids for another', async () => {
    const ask = (text: string) => partsOf(callOptions(text, { tools: [calculator] }));
    const callId = (parts: LanguageModelV4StreamPart[]) =>
      parts.find((part) => part.type === 'tool-call')?.toolCallId;
    const [first, again, other] = await Promise.all([
      ask('what is 2+2'),
      ask('what is 2+2'),
      ask('what is 3+3'),
    ]);
    expect(first).toEqual(again);
    expect(callId(first)).not.toBe(callId(other));
  });

  it('streams the arguments of a call and finishes for it', async () => {
    const parts = await partsOf(callOptions('what is 2+2', { tools: [calculator] }));
    expect(parts.map((part) => part.type)).toEqual([
      'stream-start',
      'response-metadata',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-end',
      'tool-call',
      'finish',
    ]);
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } });
  });
});

describe('limits', () => {
  it('stops at maxOutputTokens and at stop sequences', async () => {
    const short = await partsOf(callOptions('hello', { maxOutputTokens: 2 }));
    expect(textOf(short)).toBe('Hello. W');
    expect(short.at(-1)).toMatchObject({ finishReason: { unified: 'length' } });
    const stopped = await partsOf(callOptions('hello', { stopSequences: ['What', ''] }));
    expect(textOf(stopped)).toBe('Hello. ');
    expect(stopped.at(-1)).toMatchObject({ finishReason: { unified: 'stop' } });
  });

  it('stops in the middle when aborted', async () => {
    const aborter = new AbortController();
    const { stream } = await model.doStream(callOptions('hello', { abortSignal: aborter.signal }));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of stream) {
        seen.push(part.type);
        if (part.type === 'text-delta') aborter.abort();
      }
    })();
    await expect(reading).rejects.toThrow('aborted');
    expect(seen.filter((type) => type === 'text-delta')).toHaveLength(1);
  });

  it('does not start when aborted before', async () => {
    const abortSignal = AbortSignal.abort();
    await expect(model.doStream(callOptions('hello', { abortSignal }))).rejects.toThrow('aborted');
    await expect(model.doGenerate(callOptions('hello', { abortSignal }))).rejects.toThrow('aborted');
  });
});

describe('tool choice', () => {
  it('makes no call when none is allowed', async () => {
    const { content } = await model.doGenerate(
      callOptions('what is 2+2', { tools: [calculator], toolChoice: { type: 'none' } }),
    );
    expect(content.map((part) => part.type)).toEqual(['text']);
  });

  it('calls the tool it must, filled from the words', async () => {
    const search = {
      type: 'function' as const,
      name: 'find',
      inputSchema: {
        type: 'object' as const,
        properties: { query: { type: 'string' as const } },
        required: ['query'],
      },
    };
    const options = callOptions('tidal power', {
      tools: [calculator, search],
      toolChoice: { type: 'tool', toolName: 'find' },
    });
    expect((await model.doGenerate(options)).content).toMatchObject([
      { toolName: 'find', input: '{"query":"tidal power"}' },
    ]);
    const required = callOptions('hello', { tools: [search], toolChoice: { type: 'required' } });
    expect((await model.doGenerate(required)).content).toMatchObject([
      { type: 'tool-call', toolName: 'find' },
    ]);
  });
});

describe('stress', () => {
  const tools = [...everyTool, 'delegate_to'].map((name) => ({
    type: 'function' as const,
    name,
    inputSchema: schemaOf(name),
  }));
  const model = createDemoModel();

  const long = 60_000;
  /** The chat takes no longer message. A pattern that goes over its rest again and again would run into the time limit. */
  const longest = 200_000;

  it.each([
    ['one word without end', 'a'.repeat(long)],
    ['blanks', `remind me ${' '.repeat(long)} to`],
    ['line breaks', '\n'.repeat(long)],
    ['"and" without end', 'what is 2+2 and '.repeat(long / 16)],
    ['"to" without end', `add ${'to my '.repeat(long / 6)}`],
    ['marks without end', '.:?! '.repeat(long / 5)],
    ['digits and signs without end', `what is ${'1+'.repeat(long / 2)}`],
    ['open braces', `use tool calculator with ${'{"a":'.repeat(long / 5)}`],
    ['quotes', '"'.repeat(long)],
    ['sources', '[1] '.repeat(long / 4)],
    ['marks within a question', `What is ${'?'.repeat(longest)} x`],
    ['marks within something to remember', `Remember ${'. '.repeat(longest / 2)}!x`],
    ['marks within an address', `open https://a${'.'.repeat(longest)}<`],
    ['nothing but "and"', 'and '.repeat(longest / 4)],
    ['orders without a text', `${'write '.repeat(longest / 6)}: ${'a '.repeat(100)}`],
    ['"summarise" without end', 'summarise '.repeat(longest / 10)],
    ['a string that does not end', `use tool calculator with {${'\\"'.repeat(longest / 2)}\\`],
  ])('does not choke on %s', async (_, text) => {
    const { content } = await model.doGenerate(callOptions(text, { tools }));
    expect(content.length).toBeGreaterThan(0);
    expect(
      (await model.doGenerate(callOptions(`Summarise this: ${text}`))).content.length,
    ).toBeGreaterThanOrEqual(0);
  });

  it('answers any text with sound calls or words', async () => {
    const words = fc.constantFrom(
      'remember',
      'what',
      'is',
      'time',
      'in',
      'Tokyo',
      'every',
      'day',
      'at',
      '9',
      'and',
      'then',
      'ask',
      'me',
      'research',
      'to',
      'note',
      'bd-1',
      'use tool',
      'calculator',
      '{"a":1}',
      '2+2',
      '?',
      '.',
      'it',
      'my',
    );
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(words, { maxLength: 12 }).map((list) => list.join(' ')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (said) => {
        const { content } = await model.doGenerate(callOptions(said, { tools }));
        for (const part of content) {
          if (part.type === 'tool-call') expect(JSON.parse(part.input)).toBeTypeOf('object');
          else expect(part).toMatchObject({ type: 'text', text: expect.stringMatching(/\S/) });
        }
        expect(content.length).toBeGreaterThan(0);
      }),
    );
  });
});
