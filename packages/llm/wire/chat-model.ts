import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { Endpoint } from '../endpoint.ts';
import { cleanDetail, fromDocument, fromStatus, type TranslationOptions } from '../error-translation.ts';
import { activityListener, type OnActivity } from '../limits.ts';
import { ModelError } from '../model-error.ts';
import { AnswerReader } from './answer-reader.ts';
import { streamOf } from './batches.ts';
import { createDocumentReader } from './document-reader.ts';
import { isWebPage, readErrorText, webPageWords } from './error-body.ts';
import { providerName } from './messages.ts';
import { postJson, readErrorBody, type WireResponse } from './post.ts';
import { refusedParameter, refusesToolSchema, refusesTools } from './refusals.ts';
import { type RequestProfile, reportOmitted, requestText, sentNames, wireRequest } from './request.ts';
import { isPromptCut } from './usage.ts';

export interface ChatModelOptions {
  endpoint: Endpoint;
  model: string;
  translation: TranslationOptions;
  /** What is known of the model now. */
  profile(): ChatProfile;
  /** The window that the endpoint cuts prompts to without a word, where it is known to do so. */
  cutWindow(): number | undefined;
  /** Records what the endpoint refused, so that it is not sent again; parameters are added to those known. */
  learn(facts: Partial<ChatProfile>, reason: string): void;
}

interface ChatProfile extends RequestProfile {
  /** The context window, where it is known. */
  contextTokens?: number;
}

type Part = LanguageModelV4StreamPart;

const mostRefusals = 6;

/** Usage and citations may come behind the end of an answer; an endpoint that then leaves the connection open is not waited for. */
const afterEndMs = 10_000;

/** A chat model behind an OpenAI-style endpoint; it reads what endpoints really send. Fails with a ModelError. */
export function createChatModel(options: ChatModelOptions): LanguageModelV4 {
  const { endpoint, model, translation } = options;
  const url = new URL(`${endpoint.baseUrl}/chat/completions`);
  url.search = new URLSearchParams(endpoint.query).toString();

  /** Sends the call, and again at once without what the endpoint refuses. */
  async function open(call: LanguageModelV4CallOptions, stream: boolean): Promise<OpenAnswer> {
    const refused: string[] = [];
    for (;;) {
      const profile = options.profile();
      const omitParameters = [...profile.omitParameters, ...refused];
      const request = wireRequest(model, call, { ...profile, omitParameters }, stream);
      const { body, warnings } = request;
      const text = requestText(body);
      const headers = { ...endpoint.headers, ...definedHeaders(call.headers) };
      const response = await postJson(url, { headers, body: text, signal: call.abortSignal });
      if (response.status < 300) {
        reportOmitted(request.omitted);
        return { response, warnings, body: text };
      }
      const parameter = await refusalOf(response, body);
      if (refused.length >= mostRefusals)
        throw new ModelError('bad-request', { detail: `${parameter} is refused` });
      refused.push(parameter);
    }
  }

  /** The parameter that an error response refuses; every other error is thrown. */
  async function refusalOf(response: WireResponse, body: Record<string, unknown>): Promise<string> {
    const { status, headers } = response;
    const said = readErrorText(await readErrorBody(response));
    const failure = fromStatus(status, said, headers, translation);
    if (failure.code === 'context-too-long') throw failure;
    const sent = sentNames(body);
    const takesNoTools = refusesTools(status, said, sent);
    if (takesNoTools)
      options.learn(
        { tools: 'prompted' },
        `${model} takes no tools through the API; they are described in the prompt.`,
      );
    if (takesNoTools || refusesToolSchema(status, said, sent))
      throw new ModelError('tools-unsupported', { status, detail: cleanDetail(said.message, translation) });
    const refusal = refusedParameter(status, said, sent);
    if (refusal === undefined) throw failure;
    const { parameter, isLasting } = refusal;
    if (isLasting)
      options.learn(
        { omitParameters: [parameter] },
        `${model} refuses "${parameter}"; it is left out from now on.`,
      );
    return parameter;
  }

  /** The window that the prompt was cut to; the words of a stream are out by then, but the next call fits. */
  function noteCut(
    { body }: OpenAnswer,
    { inputTokens: { total } }: LanguageModelV4Usage,
  ): number | undefined {
    if (!isPromptCut(total, body, options.cutWindow())) return undefined;
    const reason = `${model} was given ${total} tokens of a longer prompt: its endpoint cuts what exceeds its context window without a word. Serve it with a larger one (num_ctx at Ollama).`;
    options.learn({ contextTokens: total }, reason);
    return total;
  }

  return {
    specificationVersion: 'v4',
    provider: `${providerName}.chat`,
    modelId: model,
    supportedUrls: {},
    doGenerate: async (call) => {
      const onActivity = activityListener();
      const answer = await open(call, false);
      const result = await wholeAnswer(answer, readParts(answer, { onActivity, translation }));
      const contextTokens = noteCut(answer, result.usage);
      if (contextTokens !== undefined) throw new ModelError('context-too-long', { contextTokens });
      return result;
    },
    doStream: async (call): Promise<LanguageModelV4StreamResult> => {
      const { includeRawChunks } = call;
      const onActivity = activityListener();
      const answer = await open(call, true);
      const { response, body } = answer;
      const onEnd = (usage: LanguageModelV4Usage) => void noteCut(answer, usage);
      const parts = readParts(answer, { onActivity, translation, includeRawChunks, onEnd });
      const stream = answerStream(parts, response);
      return { stream, request: { body }, response: { headers: response.headers } };
    },
  };
}

interface OpenAnswer {
  response: WireResponse;
  warnings: SharedV4Warning[];
  body: string;
}

interface ReadOptions {
  onActivity: OnActivity;
  translation: TranslationOptions;
  includeRawChunks?: boolean | undefined;
  onEnd?: (usage: LanguageModelV4Usage) => void;
}

/** The parts of an answer, in batches as they arrive. A failure is an `error` part; only a broken connection throws. */
async function* readParts(
  { response, warnings }: OpenAnswer,
  { onActivity, translation, includeRawChunks, onEnd }: ReadOptions,
): AsyncGenerator<Part[], void> {
  let parts: Part[] = [{ type: 'stream-start', warnings }];
  let failed = false;
  let isDone = false;
  /** Whether the bytes at hand brought something of the answer. */
  let isAlive = false;
  const fail = (error: ModelError) => {
    if (failed) return;
    answer.end();
    failed = true;
    parts.push({ type: 'error', error });
  };
  const answer = new AnswerReader({
    push(part) {
      if (failed) return;
      parts.push(part);
      isAlive = true;
    },
    tooLong(detail) {
      if (!failed) fail(new ModelError('answer-too-long', { detail }));
    },
    failed: (document) => fail(fromDocument(document, translation)),
  });
  const documents = createDocumentReader({
    document(value) {
      if (includeRawChunks) parts.push({ type: 'raw', rawValue: value });
      if (!failed) answer.read(value);
    },
    done: () => {
      isDone = true;
    },
    unreadable: (text) => fail(unreadable(text, translation)),
  });
  let ending: NodeJS.Timeout | undefined;
  let isLeft = false;
  const leave = () => {
    isLeft = true;
    response.close();
  };
  try {
    try {
      for await (const bytes of response.body) {
        const { length } = answer;
        isAlive = false;
        const isCarriedOn = documents.push(bytes);
        const isProgress = isAlive || isCarriedOn || answer.length > length;
        onActivity(isProgress ? undefined : 'keep-alive');
        if (failed || isDone) break;
        if (isProgress || parts.length > 0) {
          clearTimeout(ending);
          ending = undefined;
        }
        if (parts.length > 0) yield parts;
        parts = [];
        if (answer.isComplete) ending ??= setTimeout(leave, afterEndMs);
      }
    } catch (error) {
      if (!isLeft) throw error;
    }
    documents.end();
    if (!answer.isComplete && !isDone) fail(incomplete(answer));
    if (!failed) answer.end();
    if (!failed) onEnd?.(answer.usage);
    parts.push(answer.finishPart(failed));
    isDone = !failed;
    yield parts;
  } finally {
    clearTimeout(ending);
    if (isDone) response.release();
    else response.close();
  }
}

function unreadable(text: string, translation: TranslationOptions): ModelError {
  if (isWebPage(text)) return new ModelError('bad-answer', { detail: webPageWords(text) });
  if (/^\s*[{[]/.test(text)) return new ModelError('bad-answer');
  return fromStatus(200, readErrorText(text), {}, translation);
}

/** An empty body, or one that stopped before the endpoint said that the answer is complete. */
function incomplete(answer: AnswerReader): ModelError {
  const detail = answer.isEmpty ? 'nothing came' : 'the answer stopped before its end';
  return new ModelError('interrupted', { detail });
}

function answerStream(parts: AsyncGenerator<Part[], void>, response: WireResponse): ReadableStream<Part> {
  return streamOf({
    next: async () => (await parts.next()).value ?? undefined,
    cancel: () => response.close(),
  });
}

async function wholeAnswer(
  { response, warnings, body }: OpenAnswer,
  batches: AsyncGenerator<Part[], void>,
): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  let metadata: ReturnType<typeof metadataOf> = {};
  let finish: Extract<Part, { type: 'finish' }> | undefined;
  for await (const parts of batches) {
    for (const part of parts) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-start') content.push({ type: 'text', text: '' });
      if (part.type === 'reasoning-start') content.push({ type: 'reasoning', text: '' });
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') append(content.at(-1), part.delta);
      if (part.type === 'reasoning-end' && part.providerMetadata)
        Object.assign(content.at(-1) ?? {}, { providerMetadata: part.providerMetadata });
      if (part.type === 'tool-call' || part.type === 'file' || part.type === 'source') content.push(part);
      if (part.type === 'response-metadata') metadata = metadataOf(part);
      if (part.type === 'finish') finish = part;
    }
  }
  if (finish === undefined) throw new ModelError('interrupted');
  const { finishReason, usage } = finish;
  return {
    content,
    finishReason,
    usage,
    warnings,
    request: { body },
    response: { ...metadata, headers: response.headers },
  };
}

function metadataOf({ type: _, ...metadata }: Extract<Part, { type: 'response-metadata' }>) {
  return metadata;
}

function append(block: LanguageModelV4Content | undefined, delta: string): void {
  if (block?.type === 'text' || block?.type === 'reasoning') block.text += delta;
}

function definedHeaders(headers: LanguageModelV4CallOptions['headers'] = {}): Record<string, string> {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(given);
}
