import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { decide, type Reply } from './reply.ts';
import { readRequest } from './request.ts';

const charactersPerToken = 4;

const demoModelId = 'trunkline-demo';

interface DemoModelOptions {
  /** The clock that "in 5 minutes" counts from. */
  now?: () => Date;
}

/**
 * A language model that needs no network and no key: it recognises wishes by rules, calls the tools it is given,
 * works on given text by extraction, and says that it is the demo. The same request gives the same reply.
 */
export function createDemoModel({ now = () => new Date() }: DemoModelOptions = {}): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'trunkline',
    modelId: demoModelId,
    supportedUrls: {},
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted();
      return generated(decide(readRequest(options), now()), options, demoModelId);
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: streamed(decide(readRequest(options), now()), options, demoModelId) };
    },
  };
}

/** A reply as the whole result of a model call. */
function generated(
  reply: Reply,
  options: LanguageModelV4CallOptions,
  modelId: string,
): LanguageModelV4GenerateResult {
  const id = fingerprint(options);
  const text = limited(reply.text, options);
  const content: LanguageModelV4Content[] = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...toolCalls(reply, id),
  ];
  return {
    content,
    finishReason: finishReason(reply, text, options),
    usage: usageOf(reply, text, options),
    warnings: [],
    response: { id, modelId },
  };
}

/** A reply word by word. The event loop turns between words, so that a reader sees them arrive and can stop them. */
function streamed(
  reply: Reply,
  options: LanguageModelV4CallOptions,
  modelId: string,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(reply, options, modelId);
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        await setImmediate();
        options.abortSignal?.throwIfAborted();
        const { done, value } = parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

function* partsOf(
  reply: Reply,
  options: LanguageModelV4CallOptions,
  modelId: string,
): Generator<LanguageModelV4StreamPart, undefined> {
  const id = fingerprint(options);
  const text = limited(reply.text, options);
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', id, modelId };
  if (text !== '') yield* textParts(text, id);
  for (const call of toolCalls(reply, id)) yield* callParts(call);
  yield {
    type: 'finish',
    finishReason: finishReason(reply, text, options),
    usage: usageOf(reply, text, options),
  };
}

function* textParts(text: string, id: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id };
  for (const delta of text.match(/\s*\S+|\s+$/g) ?? []) yield { type: 'text-delta', id, delta };
  yield { type: 'text-end', id };
}

function* callParts(call: LanguageModelV4ToolCall): Generator<LanguageModelV4StreamPart> {
  yield { type: 'tool-input-start', id: call.toolCallId, toolName: call.toolName };
  yield { type: 'tool-input-delta', id: call.toolCallId, delta: call.input };
  yield { type: 'tool-input-end', id: call.toolCallId };
  yield call;
}

function toolCalls(reply: Reply, id: string): LanguageModelV4ToolCall[] {
  return reply.calls.map(({ tool, input }, index) => ({
    type: 'tool-call',
    toolCallId: `${id}-${index + 1}`,
    toolName: tool,
    input: JSON.stringify(input),
  }));
}

/** The same prompt gives the same ids; another prompt gives others. */
function fingerprint({ prompt }: LanguageModelV4CallOptions): string {
  return `demo-${createHash('sha256').update(JSON.stringify(prompt)).digest('hex').slice(0, 12)}`;
}

function limited(text: string, { maxOutputTokens, stopSequences = [] }: LanguageModelV4CallOptions): string {
  const stops = stopSequences
    .map((stop) => (stop === '' ? -1 : text.indexOf(stop)))
    .filter((index) => index >= 0);
  const most = maxOutputTokens === undefined ? text.length : maxOutputTokens * charactersPerToken;
  return text.slice(0, Math.min(most, ...stops));
}

function finishReason(
  { calls, text: whole }: Reply,
  text: string,
  { maxOutputTokens = Number.POSITIVE_INFINITY }: LanguageModelV4CallOptions,
): LanguageModelV4FinishReason {
  if (calls.length > 0) return { unified: 'tool-calls', raw: 'tool_calls' };
  // One that ends before its limit ends at a stop sequence.
  const isCut = text.length < whole.length && text.length >= maxOutputTokens * charactersPerToken;
  return isCut ? { unified: 'length', raw: 'length' } : { unified: 'stop', raw: 'stop' };
}

/** Tokens are estimated at four characters each. */
function usageOf(
  { calls }: Reply,
  text: string,
  { prompt }: LanguageModelV4CallOptions,
): LanguageModelV4Usage {
  const input = tokens(JSON.stringify(prompt));
  const output = tokens(text + (calls.length > 0 ? JSON.stringify(calls) : ''));
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function tokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}
