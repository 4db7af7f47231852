import {
  type CallEnd,
  type CallPart,
  callModel,
  isTraced,
  listenForWaits,
  ModelError,
  type ModelWait,
  plainPrompt,
  quoteDescription,
  quoteSchema,
  type SaidCall,
  type SaidPart,
  schemaOfInput,
  type Tool,
  toModelError,
} from '@trunkline/llm';
import {
  type AssistantContent,
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  streamText,
  type ToolSet,
} from 'ai';
import type { z } from 'zod';
import { toPlainJson } from './checkpoint.ts';
import type { Citation } from './content/content.ts';
import type { FinishReason, ReasoningDelta, TextDelta, TurnOptions, WaitEvent } from './options.ts';

/** A tool call as the model made it. */
export interface RequestedCall {
  toolCallId: string;
  name: string;
  input: unknown;
  /** Set when the arguments were no JSON; `input` then holds them as text. */
  unreadable?: true;
  /** How many calls of the same answer have the same id and come before; some endpoints give no better ones. */
  nth?: number;
}

/** One answer of the model. */
export interface ModelStep {
  calls: RequestedCall[];
  /** The answer as it goes into the conversation; empty when the model said nothing. */
  messages: ModelMessage[];
  finishReason: FinishReason;
  usage: LanguageModelUsage | undefined;
  /** The model that answered, as the endpoint names it. */
  model: string | undefined;
  /** What the endpoint says that the answer is drawn from. */
  citations: Citation[];
  /** Why the answer is of no use. */
  fault?: ModelError;
}

/** What the model is called with. */
interface StepRequest extends Pick<TurnOptions, 'model' | 'instructions' | 'sessionId' | 'onActivity'> {
  messages: ModelMessage[];
  tools: ToolSet;
  signal: AbortSignal;
}

/** Calls the model once and streams what it says; tools are offered but not run here. Fails with a ModelError. */
export async function* streamStep(
  request: StepRequest,
  say: (text: string) => TextDelta,
): AsyncGenerator<TextDelta | ReasoningDelta | WaitEvent, ModelStep> {
  const calls: RequestedCall[] = [];
  let ended: Extract<CallPart, { type: 'end' }> | undefined;
  const waits = new WaitQueue();
  try {
    const opening = listenForWaits(
      (wait) => {
        request.onActivity?.(wait.waitMs);
        waits.push(wait);
      },
      () => open(request),
    );
    for await (const parts of yield* waits.until(opening)) {
      request.onActivity?.(0);
      for (const part of parts) {
        if (part.type === 'text-delta') {
          const said = say(part.text);
          if (said.text !== '') yield said;
        } else if (part.type === 'reasoning-delta') yield { type: 'reasoning-delta', text: part.text };
        else if (part.type === 'tool-call') calls.push(requested(part));
        else if (part.type === 'end') ended = part;
        else throw part.error;
      }
    }
    return stepOf(calls, ended);
  } catch (error) {
    throw toModelError(error);
  }
}

/**
 * One call is all that is needed here: the SDK is asked where a message holds files, which it prepares for the model, and
 * its whole loop where its spans are wanted.
 */
async function open(request: StepRequest): Promise<AsyncIterable<CallPart[]>> {
  const { model, instructions, messages, tools, sessionId, signal } = request;
  const traced = isTraced();
  const prompt = traced ? undefined : plainPrompt(instructions, messages);
  if (prompt !== undefined && model.specificationVersion === 'v4')
    return await callModel({ model, prompt, tools, signal });
  const ends: CallEnd[] = [];
  const call = {
    model,
    messages,
    tools,
    abortSignal: signal,
    onLanguageModelCallEnd: (end: CallEnd) => void ends.push(end),
    ...(instructions === '' ? {} : { instructions }),
  };
  if (!traced) return callParts((await streamLanguageModelCall(call)).stream, ends);
  const { stream } = streamText({
    ...call,
    maxRetries: 0,
    runtimeContext: { sessionId },
    telemetry: { functionId: 'turn', includeRuntimeContext: { sessionId: true } },
    // Errors are read from the stream; without this the SDK prints them, prompts included.
    onError: () => undefined,
  });
  return callParts(await begun(stream), ends);
}

/** A stream whose model has begun to answer; the SDK's own loop gives its stream out before. */
async function begun<Part extends { type: string }>(stream: AsyncIterable<Part>) {
  const parts = stream[Symbol.asyncIterator]();
  const first: Part[] = [];
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    first.push(next.value);
    if (!/start/.test(next.value.type)) break;
  }
  return rest(first, parts);
}

async function* rest<Part>(first: readonly Part[], parts: AsyncIterator<Part>): AsyncGenerator<Part> {
  try {
    yield* first;
    for (let next = await parts.next(); !next.done; next = await parts.next()) yield next.value;
  } finally {
    await parts.return?.();
  }
}

/** The SDK's parts as those of a plain call. */
async function* callParts(
  stream: AsyncIterable<SdkPart>,
  ends: readonly CallEnd[],
): AsyncGenerator<CallPart[], void> {
  for await (const part of stream) {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta')
      yield [{ type: part.type, text: part.text ?? '' }];
    else if (part.type === 'tool-call') yield [part as SaidCall];
    else if (part.type === 'error') yield [{ type: 'error', error: part.error }];
    else if (part.type === 'abort') yield [{ type: 'error', error: new ModelError('aborted') }];
    else if ('rawFinishReason' in part) {
      const end = ends.at(-1);
      if (end !== undefined) yield [{ type: 'end', rawFinishReason: part.rawFinishReason, end }];
    } else yield [];
  }
}

interface SdkPart {
  type: string;
  text?: string;
  error?: unknown;
  rawFinishReason?: string | undefined;
}

function stepOf(calls: RequestedCall[], ended: Extract<CallPart, { type: 'end' }> | undefined): ModelStep {
  if (ended === undefined)
    throw new ModelError('interrupted', { detail: 'the answer stopped before its end' });
  const { end, rawFinishReason = '' } = ended;
  const { finishReason, content, usage, modelId } = end;
  const fault = calls.length > 0 ? undefined : faultOf(end, rawFinishReason);
  return {
    ...(fault && { fault }),
    calls,
    messages: answerOf(content),
    finishReason: finishReasonOf(finishReason),
    usage,
    model: modelId,
    citations: content.flatMap(citationOf),
  };
}

function citationOf(part: SaidPart): Citation[] {
  if (part.type !== 'source' || part.sourceType !== 'url') return [];
  const { url, title, providerMetadata } = part;
  const place = Object.values(providerMetadata ?? {})[0] as { start?: number; end?: number } | undefined;
  return [{ url, ...(title && { title }), ...place }];
}

/** Why an answer without calls is of no use; undefined for one that says something. */
function faultOf({ finishReason, content }: CallEnd, rawFinish: string): ModelError | undefined {
  if (finishReason === 'content-filter') return new ModelError('content-filter');
  if (/malformed.?function.?call/i.test(rawFinish)) return new ModelError('malformed-call');
  if (content.some((part) => part.type === 'file' || (part.type === 'text' && part.text.trim() !== '')))
    return undefined;
  const detail = finishReason === 'length' ? 'it used up its tokens before it answered' : undefined;
  return new ModelError('empty-answer', { detail });
}

/** The tools without their functions: arguments are checked where the tool is run, so that the model can read what was wrong. */
export function offerTools(tools: readonly Tool[]): ToolSet {
  const othersOf = new Map<string, string[]>();
  for (const author of new Set(tools.flatMap(({ describedBy = [] }) => describedBy)))
    othersOf.set(
      author,
      tools.filter(({ describedBy }) => describedBy !== author).map(({ name }) => name),
    );
  return Object.fromEntries(
    tools.map((tool) => [tool.name, offered(tool, othersOf.get(tool.describedBy ?? ''))]),
  );
}

/** What others wrote about their tools is quoted, and cannot speak of tools that are not theirs. */
function offered(tool: Tool, others: readonly string[] = []): ToolSet[string] {
  const { description, describedBy, input } = tool;
  const inputSchema = schemaOf(input);
  if (describedBy === undefined) {
    const known = ownTools.get(inputSchema);
    if (known?.description === description) return known;
    const own = { description, inputSchema };
    ownTools.set(inputSchema, own);
    return own;
  }
  const quoted = quoteSchema(inputSchema.jsonSchema, others) as Parameters<typeof jsonSchema>[0];
  return { description: quoteDescription(describedBy, description, others), inputSchema: jsonSchema(quoted) };
}

/** A tool is offered in every turn; writing its schema once saves a good part of a turn's work. */
const schemas = new WeakMap<z.ZodType, ReturnType<typeof jsonSchema>>();

/** By their schemas. */
const ownTools = new WeakMap<object, ToolSet[string]>();

export function schemaOf(input: z.ZodType): ReturnType<typeof jsonSchema> {
  const known = schemas.get(input);
  if (known !== undefined) return known;
  const schema = jsonSchema(schemaOfInput(input) as Parameters<typeof jsonSchema>[0]);
  schemas.set(input, schema);
  return schema;
}

function requested(part: SaidCall): RequestedCall {
  const { toolCallId, toolName: name, input } = part;
  const isUnreadable = part.invalid === true && typeof input === 'string';
  return { toolCallId, name, input: toPlainJson(input), ...(isUnreadable ? { unreadable: true } : {}) };
}

function finishReasonOf(reason: string): FinishReason {
  if (reason === 'error') throw new ModelError('server-error');
  if (reason === 'interrupted') throw new ModelError('interrupted');
  return reason === 'stop' || reason === 'length' ? reason : 'other';
}

/** Waits of a call of the model, on their way to whoever reads the turn. */
export class WaitQueue {
  readonly #events: WaitEvent[] = [];
  #arrival = Promise.withResolvers<false>();

  push(wait: ModelWait): void {
    this.#events.push({ type: 'wait', ...wait });
    this.#arrival.resolve(false);
  }

  /** Tells of the waits until the work is done, then gives its result. */
  async *until<Result>(work: Promise<Result>): AsyncGenerator<WaitEvent, Result> {
    const done = work.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([done, this.#arrival.promise]))) {
      this.#arrival = Promise.withResolvers();
      yield* this.#events.splice(0);
    }
    return await work;
  }
}

type Kept = Exclude<AssistantContent, string>[number];

/** What the model said, as it goes into the conversation; nothing when it said nothing. */
function answerOf(content: readonly SaidPart[]): ModelMessage[] {
  const parts = content.map(keptOf).filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [{ role: 'assistant', content: toPlainJson(parts) }];
}

/** Endpoints recognise what they said by the metadata they sent with it. */
function keptOf(part: SaidPart): Kept | undefined {
  const providerOptions = 'providerMetadata' in part ? part.providerMetadata : undefined;
  const mark = providerOptions === undefined ? {} : { providerOptions };
  switch (part.type) {
    case 'text':
      return part.text === '' && providerOptions === undefined
        ? undefined
        : { type: 'text', text: part.text, ...mark };
    case 'reasoning':
      return { type: 'reasoning', text: part.text, ...mark };
    case 'file':
    case 'reasoning-file':
      return { type: part.type, data: part.file.base64, mediaType: part.file.mediaType, ...mark };
    case 'tool-call': {
      const { toolCallId, toolName } = part;
      const input = part.invalid && typeof part.input !== 'object' ? {} : part.input;
      return { type: 'tool-call', toolCallId, toolName, input, ...mark };
    }
    default:
      return undefined;
  }
}
