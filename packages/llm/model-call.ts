// One call of a model, without the AI SDK. The SDK's own way to one call (`streamLanguageModelCall`) copies each prompt,
// describes each tool anew and pipes every part through web streams: that was a tenth of the processor time of a turn
// (docs/benchmarks.md). model-call.test.ts holds both ways against each other.
import type {
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import {
  asSchema,
  type LanguageModelCallEndEvent,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolSet,
} from 'ai';
import { batchesOf } from './wire/batches.ts';

export type SaidPart = LanguageModelCallEndEvent<ToolSet>['content'][number];
type SaidText = Extract<SaidPart, { type: 'text' | 'reasoning' }>;
export type SaidCall = Extract<SaidPart, { type: 'tool-call' }>;

/** How a call ended. */
export type CallEnd = Pick<
  LanguageModelCallEndEvent<ToolSet>,
  'content' | 'finishReason' | 'modelId' | 'usage'
>;

export type CallPart =
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; text: string }
  | SaidCall
  | { type: 'end'; rawFinishReason: string | undefined; end: CallEnd }
  | { type: 'error'; error: unknown };

interface PlainCall {
  model: LanguageModelV4;
  prompt: LanguageModelV4Prompt;
  tools: ToolSet;
  signal: AbortSignal;
}

/** Calls the model once. When it resolves, the answer has begun; its parts come as they arrive, several at a time. */
export async function callModel({ model, prompt, tools, signal }: PlainCall) {
  const functions = Object.entries(tools).map(([name, tool]) => functionTool(name, tool));
  const { stream } = await model.doStream({
    prompt,
    ...(functions.length > 0 && { tools: functions }),
    toolChoice: { type: 'auto' },
    abortSignal: signal,
  });
  return readParts(stream, new Answer(model.modelId, tools));
}

async function* readParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  answer: Answer,
): AsyncGenerator<CallPart[], void> {
  const batches = batchesOf(stream);
  let isOver = false;
  try {
    for (;;) {
      // Neither an end nor a failure of the stream leaves anything to cancel.
      isOver = true;
      const batch = await batches.next();
      if (batch === undefined) return;
      isOver = false;
      // Also where there is nothing to tell: it shows that the model is at work.
      yield batch.map((part) => answer.read(part)).filter((part) => part !== undefined);
    }
  } finally {
    if (!isOver) await batches.cancel();
  }
}

/** What the model has said so far, in its order. */
class Answer {
  readonly #content: SaidPart[] = [];
  readonly #texts = new Map<string, SaidText>();
  readonly #tools: ToolSet;
  #modelId: string;

  constructor(modelId: string, tools: ToolSet) {
    this.#modelId = modelId;
    this.#tools = tools;
  }

  read(part: LanguageModelV4StreamPart): CallPart | undefined {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#write(part);
        return undefined;
      case 'text-delta':
      case 'reasoning-delta':
        this.#write(part, part.delta);
        return { type: part.type, text: part.delta };
      case 'text-end':
      case 'reasoning-end':
        this.#write(part);
        this.#texts.delete(keyOf(part));
        return undefined;
      case 'tool-call': {
        const call = readCall(part, Object.hasOwn(this.#tools, part.toolName));
        this.#content.push(call);
        return call;
      }
      case 'file':
      case 'reasoning-file':
        this.#content.push(fileOf(part));
        return undefined;
      case 'source':
        this.#content.push(part);
        return undefined;
      case 'response-metadata':
        this.#modelId = part.modelId ?? this.#modelId;
        return undefined;
      case 'finish': {
        const { unified, raw } = part.finishReason;
        const end = {
          content: this.#content,
          finishReason: unified,
          modelId: this.#modelId,
          usage: usageOf(part.usage),
        };
        return { type: 'end', rawFinishReason: raw, end };
      }
      case 'error':
        return { type: 'error', error: part.error };
      default:
        return undefined;
    }
  }

  #write(part: TextPart, delta = ''): void {
    const { providerMetadata } = part;
    const text = this.#texts.get(keyOf(part)) ?? this.#begin(part);
    text.text += delta;
    if (providerMetadata !== undefined) text.providerMetadata = providerMetadata;
  }

  #begin(part: TextPart): SaidText {
    const text: SaidText = { type: part.type.startsWith('text') ? 'text' : 'reasoning', text: '' };
    this.#texts.set(keyOf(part), text);
    this.#content.push(text);
    return text;
  }
}

type TextPart = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${string}`; id: string }>;

function keyOf({ type, id }: TextPart): string {
  return type.startsWith('text') ? `text ${id}` : `reasoning ${id}`;
}

/** Arguments that are no JSON stay text, and the call is `invalid`, as one of a tool that was not offered. */
function readCall(part: LanguageModelV4ToolCall, isOffered: boolean): SaidCall {
  const { toolCallId, toolName, providerExecuted, providerMetadata } = part;
  const parsed = isOffered && part.input.trim() === '' ? { value: {} } : parseSafely(part.input);
  const call = {
    type: 'tool-call' as const,
    toolCallId,
    toolName,
    input: parsed === undefined ? part.input : parsed.value,
    dynamic: true as const,
    ...(providerExecuted !== undefined && { providerExecuted }),
    ...(providerMetadata !== undefined && { providerMetadata }),
  };
  return isOffered && parsed !== undefined ? call : { ...call, invalid: true };
}

/** Undefined where the text is no JSON, or has a field that would change the prototype of an object it is copied into. */
function parseSafely(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return /__proto__|constructor|\\u/.test(text) && holdsPrototype(value) ? undefined : { value };
  } catch {
    return undefined;
  }
}

function holdsPrototype(root: unknown): boolean {
  const rest = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value !== 'object' || value === null) continue;
    const own = Object.hasOwn(value, 'constructor') ? (value as { constructor: unknown }).constructor : null;
    if (Object.hasOwn(value, '__proto__')) return true;
    if (typeof own === 'object' && own !== null && Object.hasOwn(own, 'prototype')) return true;
    for (const field of Object.values(value)) rest.push(field);
  }
  return false;
}

function fileOf(part: Extract<LanguageModelV4StreamPart, { type: 'file' | 'reasoning-file' }>): SaidPart {
  const { type, data, mediaType, providerMetadata } = part;
  if (data.type !== 'data') throw new TypeError(`a file of the model is given as ${data.type}, not as data`);
  const bytes = typeof data.data === 'string' ? Buffer.from(data.data, 'base64') : data.data;
  const file = { base64: Buffer.from(bytes).toString('base64'), uint8Array: bytes, mediaType };
  return { type, file, ...(providerMetadata !== undefined && { providerMetadata }) };
}

function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): LanguageModelUsage {
  const isCounted = inputTokens.total !== undefined || outputTokens.total !== undefined;
  return {
    inputTokens: inputTokens.total,
    inputTokenDetails: {
      noCacheTokens: inputTokens.noCache,
      cacheReadTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite,
    },
    outputTokens: outputTokens.total,
    outputTokenDetails: { textTokens: outputTokens.text, reasoningTokens: outputTokens.reasoning },
    totalTokens: isCounted ? (inputTokens.total ?? 0) + (outputTokens.total ?? 0) : undefined,
    ...(raw !== undefined && { raw }),
  };
}

/** As the model is told of them; a tool is offered in every step of every turn. */
const functionTools = new WeakMap<ToolSet[string], LanguageModelV4FunctionTool>();

function functionTool(name: string, tool: ToolSet[string]): LanguageModelV4FunctionTool {
  const known = functionTools.get(tool);
  if (known?.name === name) return known;
  const { description, inputSchema } = tool;
  const made: LanguageModelV4FunctionTool = {
    type: 'function',
    name,
    inputSchema: asSchema(inputSchema).jsonSchema as LanguageModelV4FunctionTool['inputSchema'],
    ...(typeof description === 'string' && { description }),
  };
  functionTools.set(tool, made);
  return made;
}

/**
 * A conversation as the model gets it. Undefined where it holds more than words, thoughts, calls and their results, or a
 * call without its result: the SDK reads files, and says what is wrong.
 */
export function plainPrompt(
  instructions: string,
  messages: readonly ModelMessage[],
): LanguageModelV4Prompt | undefined {
  const prompt: LanguageModelV4Message[] = [];
  if (instructions !== '') prompt.push({ role: 'system', content: instructions });
  const waiting = new Set<string>();
  for (const message of messages) {
    if (message.role === 'user' && waiting.size > 0) return undefined;
    const converted = plainMessage(message);
    if (converted === undefined) return undefined;
    if (converted.role === 'assistant')
      for (const part of converted.content) if (part.type === 'tool-call') waiting.add(part.toolCallId);
    const last = prompt.at(-1);
    if (converted.role === 'tool') {
      for (const part of converted.content) if (part.type === 'tool-result') waiting.delete(part.toolCallId);
      if (last?.role === 'tool') last.content.push(...converted.content);
      else if (converted.content.length > 0) prompt.push(converted);
    } else prompt.push(converted);
  }
  return messages.length === 0 || waiting.size > 0 ? undefined : prompt;
}

function plainMessage(message: ModelMessage): LanguageModelV4Message | undefined {
  const { role, providerOptions } = message;
  if (role === 'system' || (role === 'tool' && providerOptions !== undefined)) return undefined;
  const given =
    typeof message.content === 'string'
      ? [{ type: 'text' as const, text: message.content }]
      : message.content.filter((part) => part.type !== 'text' || part.text !== '' || keepsEmpty(role, part));
  const content = given.map((part) => plainPart(part));
  if (content.includes(undefined)) return undefined;
  return {
    role,
    content,
    ...(providerOptions !== undefined && { providerOptions }),
  } as LanguageModelV4Message;
}

/** Endpoints recognise what they said by their metadata, even where it has no words. */
function keepsEmpty(role: string, part: { providerOptions?: unknown }): boolean {
  return role === 'assistant' && part.providerOptions !== undefined;
}

type GivenPart = Exclude<ModelMessage['content'], string>[number];

function plainPart(part: GivenPart): object | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part;
    case 'tool-call':
      return part.providerExecuted ? undefined : part;
    case 'tool-result':
      return part.output.type === 'content' ? undefined : part;
    default:
      return undefined;
  }
}
