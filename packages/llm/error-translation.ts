import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from '@ai-sdk/provider';
import { errorMessage } from '@trunkline/std';
import { ModelError, type ModelErrorCode } from './model-error.ts';
import { type EndpointError, errorFields, readErrorText } from './wire/error-body.ts';

export interface TranslationOptions {
  /** Texts that must not show in the error's words. */
  secrets?: readonly string[];
  now?: () => number;
}

const longestDetail = 240;

const networkCodes: Record<string, ModelErrorCode> = {
  ECONNREFUSED: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'unreachable',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unreachable',
  SELF_SIGNED_CERT_IN_CHAIN: 'unreachable',
  CERT_HAS_EXPIRED: 'unreachable',
  ERR_TLS_CERT_ALTNAME_INVALID: 'unreachable',
  ERR_SSL_WRONG_VERSION_NUMBER: 'unreachable',
  ECONNRESET: 'interrupted',
  EPIPE: 'interrupted',
  UND_ERR_SOCKET: 'interrupted',
  HPE_INVALID_CONSTANT: 'bad-answer',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};

/** Turns whatever a model call threw or streamed as its error into one of the catalogue. */
export function toModelError(error: unknown, options: TranslationOptions = {}): ModelError {
  if (error instanceof ModelError) return error;
  return (
    fromCancellation(error) ??
    fromNetwork(error) ??
    fromResponse(error, options) ??
    fromUnreadable(error) ??
    fromErrorChunk(error, options) ??
    new ModelError('unknown', { detail: cleanDetail(errorMessage(error), options) })
  );
}

function fromCancellation(error: unknown): ModelError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'AbortError') return new ModelError('aborted');
  return error.name === 'TimeoutError' ? new ModelError('timeout') : undefined;
}

function fromNetwork(error: unknown): ModelError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const systemCode = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const code = networkCodes[systemCode];
    if (code !== undefined) return new ModelError(code, { detail: systemCode });
  }
  return undefined;
}

function fromResponse(error: unknown, options: TranslationOptions): ModelError | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const status = error.statusCode;
  if (status === undefined) return new ModelError('unreachable');
  const said = errorFields(error.data) ?? readErrorText(error.responseBody || error.message);
  return fromStatus(status, said, error.responseHeaders ?? {}, options);
}

/** The error for an HTTP status with what the endpoint said beside it. */
export function fromStatus(
  status: number,
  said: EndpointError,
  headers: Record<string, string>,
  options: TranslationOptions,
): ModelError {
  const code = codeOfStatus(status, said);
  // What an endpoint says about a key may quote the key.
  const detail = code === 'refused-key' ? undefined : cleanDetail(said.message, options);
  return new ModelError(code, {
    status,
    detail,
    contextTokens: code === 'context-too-long' ? namedWindow(said) : undefined,
    retryAfterMs: parseRetryAfter(headers, options.now ?? Date.now),
  });
}

function codeOfStatus(status: number, said: EndpointError): ModelErrorCode {
  if (status < 400) return 'bad-answer';
  if (status === 401 || status === 403) return 'refused-key';
  if (status === 402) return 'no-credit';
  if (status === 413) return 'context-too-long';
  if (status === 429) return said.code === 'insufficient_quota' ? 'no-credit' : 'rate-limited';
  const code = codeOfWords(said);
  if (code !== undefined) return code;
  if (status === 404) return 'not-found';
  if (status >= 500 && isLoading(said)) return 'loading';
  return status === 408 || status >= 500 ? 'server-error' : 'bad-request';
}

/** As llama.cpp, Ollama, Text Generation Inference and Hugging Face say it. */
function isLoading({ message }: EndpointError): boolean {
  const loads =
    /loading model|model .*\b(is )?(currently |still )?(loading|not ready)|currently loading|is being loaded/i;
  return loads.test(message) && !/fail|error|unable/i.test(message);
}

function codeOfWords(said: EndpointError): ModelErrorCode | undefined {
  if (said.code === 'model_not_found') return 'not-found';
  if (said.code === 'tool_use_failed') return 'malformed-call';
  if (/content.?(?:filter|policy|management)/i.test(`${said.code} ${said.type}`)) return 'content-filter';
  return isContextOverflow(said) ? 'context-too-long' : undefined;
}

function fromUnreadable(error: unknown): ModelError | undefined {
  if (InvalidResponseDataError.isInstance(error) && error.message.includes('without a finish reason')) {
    return new ModelError('interrupted', { detail: 'the answer stopped before its end' });
  }
  const unreadable = [JSONParseError, TypeValidationError, InvalidResponseDataError, EmptyResponseBodyError];
  return unreadable.some((kind) => kind.isInstance(error)) ? new ModelError('bad-answer') : undefined;
}

/** An error object that came inside a stream which had begun with status 200. */
function fromErrorChunk(error: unknown, options: TranslationOptions): ModelError | undefined {
  const isFields = typeof error === 'object' && error !== null && !(error instanceof Error);
  return isFields ? fromDocument({ error }, options) : undefined;
}

/** An error document that came with a status of success; its own code often is the status that it should have had. */
export function fromDocument(document: unknown, options: TranslationOptions): ModelError {
  const said = errorFields(document) ?? readErrorText('');
  const status = Number(said.code);
  if (status >= 400 && status < 600) return fromStatus(status, said, {}, options);
  const kind = `${said.type} ${said.code}`;
  if (/rate.?limit|resource.?exhausted/i.test(kind)) return fromStatus(429, said, {}, options);
  const detail = cleanDetail(said.message, options);
  const code = codeOfWords(said) ?? 'server-error';
  return new ModelError(code, { detail, contextTokens: namedWindow(said) });
}

/** An endpoint's words without secrets, in a length that a person reads. */
export function cleanDetail(text: string, { secrets = [] }: TranslationOptions): string {
  const redacted = secrets
    .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text)
    .replace(/\b(sk|pk|key)-[\w*-]{6,}/g, '[redacted]')
    .replace(/\b(Bearer|Basic)\s+\S+/gi, '[redacted]')
    .replace(/\s+/g, ' ')
    .trim();
  return redacted.length > longestDetail ? `${redacted.slice(0, longestDetail)}…` : redacted;
}

/** How long a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. */
export function parseRetryAfter(headers: Record<string, string>, now: () => number): number | undefined {
  const milliseconds = positive(headers['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const seconds = positive(text);
  if (seconds !== undefined) return seconds * 1000;
  // Date.parse also takes odd texts such as "-3" for dates; a real one names its month.
  const date = /[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

/**
 * How endpoints say that the prompt is too long, gathered from their sources and from reports of their users: OpenAI,
 * Azure, vLLM, SGLang, TGI and Together, llama.cpp, Ollama, LM Studio, TabbyAPI, node-llama-cpp, TensorRT-LLM, Gemini and
 * Vertex, Mistral, Anthropic, Bedrock, Cohere, xAI, Groq and Cerebras, Moonshot, Qwen, Zhipu, MiniMax, Fireworks,
 * OpenRouter, LiteLLM, GitHub Models.
 */
const overflowWords = [
  /context.?(length|window|size|limit).{0,40}(exceed|reached|too small|is only|is not enough)/i,
  /(exceed|longer than|greater than|larger than|too (large|big|long) for).{0,60}(context|max_seq_len|max_model_len|maximum model length|kv size)/i,
  /(maximum|max) (context|prompt|sequence|input|model) (length|size)/i,
  /context (the )?overflow/i,
  /(prompt|input|request|conversation|messages?) (is|are) too (long|large)/i,
  /prompt (too long|exceeds max)/i,
  /too many (total )?(input )?tokens|too many total text bytes/i,
  /(input|prompt) token count.{0,40}(exceeds|but)/i,
  /input tokens exceed/i,
  /input length.{0,40}(exceed|should be)/i,
  /(exceed|over)\w* (the )?(model )?(token|tokens) limit/i,
  /`?inputs`? (tokens \+|must have less than)/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /request body too large for .{0,60}max size: \d+ tokens/i,
  /not enough context|exceeds the context/i,
  /max_tokens must be at least 1, got -/i,
];

const overflowCodes =
  /context_?(length|window|size)|tokens_limit_reached|string_above_max_length|request_too_large/i;

/** Where a sentence names the window; the first match counts. */
const windowWords = [
  /(?:context|prompt|sequence|model|input) (?:length|window|size)(?: of (?:only )?| is (?:only )?|: | ?\()(\d[\d,_]*)/i,
  /(?:with|of) (\d[\d,_]*) maximum context/i,
  /context (?:length|window|size|limit):? .{0,40}> ?(\d[\d,_]*)/i,
  /\d tokens > (\d[\d,_]*) maximum/i,
  /maximum number of tokens allowed \((\d[\d,_]*)\)/i,
  /only supports up to (\d[\d,_]*)/i,
  /(?:configured|token) limit(?: of|:) (\d[\d,_]*)/i,
  /must be <= (\d[\d,_]*)/i,
  /must have less than (\d[\d,_]*) tokens/i,
  /(?:max_seq_len|max_model_len)\D{0,4}(\d[\d,_]*)/i,
  /while limit is (\d[\d,_]*)/i,
  /exceeds the limit of (\d[\d,_]*)/i,
  /cannot exceed (\d[\d,_]*)/i,
  /max size: (\d[\d,_]*) tokens/i,
  /should be \[\d+, ?(\d[\d,_]*)\]/i,
  /context window of (\d[\d,_]*)/i,
];

/** Whether an endpoint's error says that the prompt does not fit into the model's context window. */
function isContextOverflow({ message, type, code }: EndpointError): boolean {
  if (overflowCodes.test(code) || overflowCodes.test(type)) return true;
  return overflowWords.some((words) => words.test(message));
}

/** The size of the window in tokens, where the error names it. */
function namedWindow({ message, contextTokens }: EndpointError): number | undefined {
  if (contextTokens !== undefined) return contextTokens;
  for (const words of windowWords) {
    const digits = words.exec(message)?.[1]?.replace(/[,_]/g, '');
    if (digits !== undefined && Number(digits) > 0) return Number(digits);
  }
  return undefined;
}
