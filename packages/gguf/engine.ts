import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type {
  AnswerEvent,
  CompletionRequest,
  FinishReason,
  RequestMessage,
  ToolCall,
} from '@trunkline/openai-api';
import { CodedError, ConcurrencyLimiter } from '@trunkline/std';
import type * as Llama from 'node-llama-cpp';
import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelFunctions } from 'node-llama-cpp';
import type { FileFacts, LoadSettings, ModelFacts } from './messages.ts';
import { grammarSchema, withoutAbsent } from './schema.ts';

/** Without a setting the conversation is no longer than this: the cache of a longer one takes gigabytes. */
const defaultContextTokens = 16_384;
/** An answer needs room behind the prompt; less than this is no use. */
const leastAnswerTokens = 16;
/** Below this part of the prompt a sequence counts as another conversation. */
const leastSharedPart = 0.1;
const maxWaiting = 64;
const reasonMs = 1_000;
/** No file has more tensors or more entries in its header. */
const mostEntries = 1_000_000n;

export class EngineError extends CodedError<
  'package-missing' | 'no-binary' | 'context' | 'busy' | 'request'
> {}

export interface Engine {
  facts: ModelFacts;
  answer(request: CompletionRequest, emit: (event: AnswerEvent) => void, signal: AbortSignal): Promise<void>;
}

/** Loads the file. Each of its sequences keeps the tokens of one conversation, so that a next turn reads only what is new. */
export async function loadEngine(
  settings: LoadSettings,
  onProgress: (fraction: number) => void,
): Promise<Engine> {
  const llamaCpp = await importLlama();
  const reason = Promise.withResolvers<string>();
  const llama = await startLlama(llamaCpp, reason.resolve);
  checkHeader(settings.path);
  const model = await llama
    .loadModel({ modelPath: settings.path, onLoadProgress: onProgress })
    .catch(async (error: unknown) => {
      // The reason itself stands only in what the native code logs, which may come a little later.
      const logged = await Promise.race([reason.promise, setTimeout(reasonMs)]);
      throw logged === undefined ? error : new Error(logged, { cause: error });
    });
  const { trainContextSize } = model;
  const context = await model.createContext({
    sequences: settings.sequences,
    contextSize: settings.contextTokens ?? { max: Math.min(trainContextSize, defaultContextTokens) },
    ...(settings.threads !== undefined && { threads: settings.threads }),
  });
  const chatWrapper = llamaCpp.resolveChatWrapper(model);
  const free = Array.from(
    { length: settings.sequences },
    () => new llamaCpp.LlamaChat({ contextSequence: context.getSequence(), chatWrapper }),
  );
  const limiter = new ConcurrencyLimiter({ limit: settings.sequences, maxWaiting });
  return {
    facts: {
      ...fileFacts(settings.path, model.fileInfo),
      contextTokens: context.contextSize,
      sequences: settings.sequences,
    },
    answer: (request, emit, signal) =>
      limiter.run(
        async () => {
          const prompt = renderPrompt(request, chatWrapper, model);
          const chat = takeNearest(free, prompt.tokens);
          try {
            await generate({ llama, chat, prompt, request, emit, signal });
          } finally {
            free.push(chat);
          }
        },
        { signal },
      ),
  };
}

/** What the header of the file says; fails where no model could be run. */
export async function inspectFile(path: string): Promise<FileFacts> {
  const llamaCpp = await importLlama();
  checkHeader(path);
  const info = await llamaCpp.readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false });
  await startLlama(llamaCpp);
  return fileFacts(path, info);
}

/** The library reads a header with senseless counts for ever. */
function checkHeader(path: string): void {
  const head = Buffer.alloc(24);
  const file = openSync(path, 'r');
  try {
    readSync(file, head);
  } finally {
    closeSync(file);
  }
  const [tensors, entries] = [head.readBigUInt64LE(8), head.readBigUInt64LE(16)];
  if (head.toString('latin1', 0, 4) !== 'GGUF') throw new Error('it does not begin with "GGUF"');
  if (head.readUInt32LE(4) > 3) throw new Error('its version of GGUF is not known');
  if (tensors === 0n || tensors > mostEntries || entries > mostEntries)
    throw new Error('its header is damaged');
}

function fileFacts(path: string, info: Llama.GgufFileInfo): FileFacts {
  const { architecture } = info.metadata.general;
  const { context_length: trainedTokens } = info.architectureMetadata;
  return { architecture, trainedTokens, bytes: statSync(path).size };
}

async function importLlama(): Promise<typeof Llama> {
  try {
    return await import('node-llama-cpp');
  } catch (cause) {
    throw new EngineError('package-missing', '', { cause });
  }
}

async function startLlama(
  llamaCpp: typeof Llama,
  onLoadError?: (reason: string) => void,
): Promise<Llama.Llama> {
  try {
    // Nothing is ever downloaded or compiled: a binary came with npm, or there is none.
    return await llamaCpp.getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      logger(level, message) {
        console.error(level, message.trimEnd());
        const reason = /error loading model: (.+)/.exec(message)?.[1];
        if (reason !== undefined) onLoadError?.(reason);
      },
    });
  } catch (cause) {
    throw new EngineError('no-binary', '', { cause });
  }
}

interface Prompt {
  history: Llama.ChatHistoryItem[];
  functions: Llama.ChatModelFunctions | undefined;
  /** The only thing that the answer may be: an object of this schema. */
  grammar: Llama.GbnfJsonSchema | 'json' | undefined;
  /** Whether the answer is a call of a tool, which the grammar then writes. */
  isCall: boolean;
  tokens: readonly number[];
}

function renderPrompt(
  request: CompletionRequest,
  wrapper: Llama.ChatWrapper,
  model: Llama.LlamaModel,
): Prompt {
  const history = toHistory(request);
  const functions = toFunctions(request);
  const mustCall = request.tool_choice === 'required' || typeof request.tool_choice === 'object';
  const isCall = mustCall && functions !== undefined;
  const grammar = isCall ? callSchema(functions) : formatOf(request);
  // A grammar leaves no room for the model's own way to write a call, so the tools are then told in words.
  if (grammar !== undefined && functions !== undefined) {
    const words = wrapper
      .generateAvailableFunctionsSystemText(functions, { documentParams: true })
      .toString();
    history.unshift({ type: 'system', text: words });
  }
  const offered = grammar === undefined ? functions : undefined;
  const { contextText } = wrapper.generateContextState({
    chatHistory: history,
    ...(offered && { availableFunctions: offered, documentFunctionParams: true }),
  });
  return { history, functions: offered, grammar, isCall, tokens: contextText.tokenize(model.tokenizer) };
}

function callSchema(functions: Llama.ChatModelFunctions): Llama.GbnfJsonSchema {
  const oneOf = Object.entries(functions).map(([name, { params }]) => ({
    type: 'object' as const,
    properties: { name: { const: name }, arguments: params ?? { type: 'object' as const } },
  }));
  return { oneOf };
}

function formatOf({ response_format: format }: CompletionRequest): Prompt['grammar'] {
  if (format?.type === 'json_schema' && format.json_schema?.schema !== undefined)
    return grammarSchema(format.json_schema.schema);
  return format?.type === 'json_object' || format?.type === 'json_schema' ? 'json' : undefined;
}

/** Takes the sequence that has most of the prompt already, or the one used longest ago where none has a good part of it. */
function takeNearest(free: Llama.LlamaChat[], tokens: readonly number[]): Llama.LlamaChat {
  const shared = free.map(({ sequence }) => sharedLength(sequence.contextTokens, tokens));
  const most = Math.max(...shared);
  const [chat] = free.splice(most < tokens.length * leastSharedPart ? 0 : shared.indexOf(most), 1);
  if (chat === undefined) throw new Error('more answers at once than sequences');
  return chat;
}

function sharedLength(kept: readonly number[], wanted: readonly number[]): number {
  const end = kept.findIndex((piece, index) => piece !== wanted[index]);
  return end < 0 ? kept.length : end;
}

interface Generation {
  llama: Llama.Llama;
  chat: Llama.LlamaChat;
  prompt: Prompt;
  request: CompletionRequest;
  emit: (event: AnswerEvent) => void;
  signal: AbortSignal;
}

async function generate({ llama, chat, prompt, request, emit, signal }: Generation): Promise<void> {
  const { sequence } = chat;
  const room = sequence.contextSize - prompt.tokens.length;
  if (room < leastAnswerTokens) throw tooLong(prompt.tokens.length, sequence.contextSize);
  const before = sequence.tokenMeter.getState();
  const stops = [request.stop ?? []].flat();
  const limit = request.max_completion_tokens ?? request.max_tokens ?? room;
  const common = {
    signal,
    // Beyond the window the library would drop the oldest turns in silence; the answer ends there instead.
    maxTokens: Math.min(limit, room - 1),
    temperature: request.temperature ?? 0.7,
    ...(request.top_p != null && { topP: request.top_p }),
    ...(request.seed != null && { seed: request.seed }),
    ...(stops.length > 0 && { customStopTriggers: stops }),
    repeatPenalty: repeatPenalty(request),
    onResponseChunk: ({ text, segmentType }: Llama.LlamaChatResponseChunk) => {
      if (text === '' || prompt.isCall) return;
      emit({ type: segmentType === undefined ? 'text-delta' : 'reasoning-delta', text });
    },
  };
  const { functions, grammar } = prompt;
  const result =
    grammar === undefined
      ? await chat.generateResponse(prompt.history, {
          ...common,
          ...(functions && {
            functions,
            documentFunctionParams: true,
            ...(request.parallel_tool_calls === false && { maxParallelFunctionCalls: 1 }),
          }),
        })
      : await chat.generateResponse(prompt.history, { ...common, grammar: await grammarOf(llama, grammar) });
  const used = sequence.tokenMeter.diff(before);
  const calls = prompt.isCall ? forcedCall(result.response) : (result.functionCalls ?? []);
  const toolCalls = calls.map((call) => toToolCall(call, request));
  emit({
    type: 'end',
    finishReason: toolCalls.length > 0 ? 'tool_calls' : finishReason(result.metadata.stopReason),
    usage: {
      inputTokens: prompt.tokens.length,
      outputTokens: used.usedOutputTokens,
      cachedInputTokens: Math.max(0, prompt.tokens.length - used.usedInputTokens),
    },
    ...(toolCalls.length > 0 && { toolCalls }),
  });
}

/** As OpenAI's API has it: 0 is none, and below 0 repeating is welcome. The library's own penalty by a factor stays off. */
function repeatPenalty(request: CompletionRequest): Llama.RepeatPenalty | false {
  const frequencyPenalty = request.frequency_penalty ?? 0;
  const presencePenalty = request.presence_penalty ?? 0;
  if (frequencyPenalty === 0 && presencePenalty === 0) return false;
  return { penalty: 1, frequencyPenalty, presencePenalty };
}

function grammarOf(llama: Llama.Llama, grammar: Llama.GbnfJsonSchema | 'json'): Promise<Llama.LlamaGrammar> {
  return grammar === 'json' ? llama.getGrammarFor('json') : llama.createGrammarForJsonSchema(grammar);
}

interface Call {
  functionName: string;
  params: unknown;
}

/** Empty when the answer was cut off before the call was whole. */
function forcedCall(text: string): Call[] {
  try {
    const { name, arguments: params } = JSON.parse(text) as { name: string; arguments: unknown };
    return [{ functionName: name, params }];
  } catch {
    return [];
  }
}

function toToolCall({ functionName: name, params }: Call, { tools }: CompletionRequest): ToolCall {
  const schema = tools?.find((tool) => tool.function.name === name)?.function.parameters;
  const given = JSON.stringify(withoutAbsent(params ?? {}, schema));
  return { id: `call_${crypto.randomUUID()}`, type: 'function', function: { name, arguments: given } };
}

function finishReason(reason: string): FinishReason {
  return reason === 'maxTokens' ? 'length' : 'stop';
}

/** In the words of llama.cpp's own server, which clients know. */
function tooLong(promptTokens: number, contextTokens: number): EngineError {
  return new EngineError(
    'context',
    `the request (${promptTokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it (LLM_GGUF_CONTEXT)`,
  );
}

/** The conversation as node-llama-cpp keeps it: a call and its result stand in the turn of the model. */
function toHistory(request: CompletionRequest): ChatHistoryItem[] {
  const history: ChatHistoryItem[] = [];
  const calls = new Map<string, ChatModelFunctionCall>();
  for (const message of request.messages) {
    if (message.role === 'system' || message.role === 'user')
      history.push({ type: message.role, text: textOf(message) });
    if (message.role === 'assistant') modelTurn(history).push(...assistantParts(message, calls));
    const call = message.role === 'tool' ? calls.get(message.tool_call_id ?? '') : undefined;
    if (call !== undefined) call.result = parsed(textOf(message));
  }
  // The model goes on in its own turn, which a result of a tool does not end.
  modelTurn(history);
  return history;
}

/** The parent sends all content as text, and what is of the system as one message, the first. */
function textOf({ content }: RequestMessage): string {
  return typeof content === 'string' ? content : '';
}

type ModelParts = Extract<ChatHistoryItem, { type: 'model' }>['response'];

function modelTurn(history: ChatHistoryItem[]): ModelParts {
  const last = history.at(-1);
  if (last?.type === 'model') return last.response;
  const response: ModelParts = [];
  history.push({ type: 'model', response });
  return response;
}

function assistantParts(message: RequestMessage, calls: Map<string, ChatModelFunctionCall>): ModelParts {
  const text = textOf(message);
  const made = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }, index) => {
    const call: ChatModelFunctionCall = {
      type: 'functionCall',
      name,
      params: parsed(given),
      result: undefined,
      ...(index === 0 && { startsNewChunk: true }),
    };
    calls.set(id, call);
    return call;
  });
  return [...(text === '' ? [] : [text]), ...made];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The tools that may be called; undefined when none may. */
function toFunctions({ tools, tool_choice: choice }: CompletionRequest): ChatModelFunctions | undefined {
  const named = typeof choice === 'object' ? choice?.function.name : undefined;
  const offered = (tools ?? []).filter(({ function: { name } }) => named === undefined || name === named);
  if (offered.length === 0 || choice === 'none') return undefined;
  return Object.fromEntries(
    offered.map(({ function: { name, description, parameters } }) => [
      name,
      {
        ...(description !== undefined && { description }),
        params: parameters === undefined ? null : grammarSchema(parameters),
      },
    ]),
  );
}
