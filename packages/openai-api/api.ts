import type { TaskEngine } from '@trunkline/a2a';
import type { ErrorKind } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { AnswerEvent } from './completion.ts';
import { openAiErrors } from './errors.ts';
import { type CompletionRequest, checkContent } from './request.ts';
import type { Responses } from './responses/responses.ts';

/** What a service offers behind `/v1`. */
export interface OpenAiApi {
  ownedBy: string;
  /** Ids that `/v1/models` lists. */
  models(): readonly string[];
  /** How a model answers; undefined if there is no such model. Models may answer that are not listed. */
  findModel(id: string): Answer | undefined;
  /** The model of requests that name none; without it such requests are refused. */
  defaultModel?: () => string;
  /** Whether messages may carry images. */
  images: boolean;
  /** Whether messages may carry sound and files; default false. */
  files?: boolean;
  /** Parameters of requests that reach a model; others are refused, or named in the header of the answer. */
  parameters?: (model: string) => readonly ModelParameter[];
  /** Whether its models answer calls with `isSummary`; otherwise `/v1/responses/compact` is refused. */
  isSummarising?: boolean;
  /** Words for a caller who keeps too much already. */
  refusal?: (principal: Principal) => string | undefined;
  /** Failures of the service's own, for `/openapi.json`. */
  errors?: readonly ErrorKind[];
  /** How long a stream waits for its first event, so that an early failure is an HTTP status; default 15 seconds. */
  statusWaitMs?: number;
  /** Serves `/v1/responses` too. Background responses run as tasks of the engine, whose executor `Responses` wraps. */
  responses?: {
    kept: Responses;
    engine: Pick<TaskEngine, 'for' | 'refusal'>;
    /** An estimate, for `/v1/responses/input_tokens`. */
    countTokens(text: string): number;
  };
}

export interface CompletionCall {
  /** The id of the completion. */
  id: string;
  request: CompletionRequest;
  principal: Principal;
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
  /** The model alone answers, without the instructions and tools of the service. */
  isSummary?: boolean;
}

export type Answer = (call: CompletionCall) => AsyncGenerator<AnswerEvent, void>;

export function requireModel(api: OpenAiApi, id: string): Answer {
  const some = api.models().slice(0, 10).join(', ');
  if (id === '')
    throw openAiErrors.invalid_request_error({ message: `model: name one, for example of ${some}` });
  const answer = api.findModel(id);
  if (answer !== undefined) return answer;
  const message = `There is no model "${id}" here. Ask for one that GET /v1/models lists: ${some}.`;
  throw openAiErrors.model_not_found({ message });
}

/** Refuses what this service cannot do for this caller; gives the parameters that have no effect. */
export function checkRequest(
  api: OpenAiApi,
  request: CompletionRequest,
  principal: Principal,
  nameOf?: (parameter: string) => string,
): string[] {
  checkContent(request, api);
  const ignored = ignoredParameters(request, api.parameters?.(request.model) ?? [], nameOf);
  const message = api.refusal?.(principal);
  if (message !== undefined) throw openAiErrors.insufficient_quota({ message });
  return ignored;
}

/** The header that names parameters without effect. */
export function ignoredHeader(ignored: readonly string[]): Record<string, string> {
  return ignored.length === 0 ? {} : { 'x-ignored-parameters': ignored.join(', ') };
}

type Step = IteratorResult<AnswerEvent, void>;

/** Waits a while for the first event that tells of no ignored parameters; throws an early failure. */
export async function firstEvent(
  events: ReturnType<Answer>,
  { statusWaitMs = 15_000 }: OpenAiApi,
  ignored: string[],
): Promise<{ first: Promise<Step> }> {
  for (;;) {
    const first = events.next();
    const early = await settledWithin(first, statusWaitMs);
    if (early?.value?.type !== 'ignored-parameters') return { first };
    ignored.push(...early.value.names);
  }
}

/** Gives or throws what the promise does if that comes in time. */
async function settledWithin<Value>(promise: Promise<Value>, ms: number): Promise<Value | undefined> {
  const { promise: elapsed, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([promise, elapsed]);
  } finally {
    clearTimeout(timer);
  }
}

/** All events again, with the first in front that was waited for. */
export async function* resumed(
  { first }: { first: Promise<Step> },
  rest: ReturnType<Answer>,
): AsyncGenerator<AnswerEvent, void> {
  try {
    const step = await first;
    if (step.done) return;
    yield step.value;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** For failures that are told within a stream, whose cause only the log knows. */
export const internalFailure = {
  message: 'The answer failed; the log says why.',
  code: 'internal',
  status: 500,
};

/** Parameters that a service can pass on to its model. */
export const modelParameters = [
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'reasoning_effort',
  'verbosity',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
] as const;

export type ModelParameter = (typeof modelParameters)[number];

/** Those that shape each call of a model, and neither tools nor the form of the answer. */
export const samplingParameters: readonly ModelParameter[] = modelParameters.filter(
  (name) => !/tool|response_format/.test(name),
);

/** No service gives what these ask for. */
const neverTaken = [
  'logprobs',
  'top_logprobs',
  'functions',
  'function_call',
  'modalities',
  'audio',
  'prediction',
  'web_search_options',
];

/** Chat programs send these unasked, so they are not refused: the answer's header names them. */
const oftenSent: readonly string[] = [
  'temperature',
  'top_p',
  'max_tokens',
  'tools',
  'tool_choice',
  'response_format',
];

/** Values that ask for nothing but the usual. */
const usual: Record<string, string> = {
  temperature: '1',
  top_p: '1',
  frequency_penalty: '0',
  presence_penalty: '0',
  logit_bias: '{}',
  stop: '[]',
  tools: '[]',
  parallel_tool_calls: 'true',
  response_format: '{"type":"text"}',
  logprobs: 'false',
  top_logprobs: '0',
  functions: '[]',
  modalities: '["text"]',
};

/** The parameters of a request that have no effect here, for a header. Refuses those whose absence would mislead. */
function ignoredParameters(
  request: CompletionRequest,
  passedOn: readonly ModelParameter[],
  nameOf = (parameter: string) => parameter,
): string[] {
  const asked = [...modelParameters, ...neverTaken].filter((name) => hasEffect(request, name));
  const dropped = asked.filter((name) => !(passedOn as readonly string[]).includes(name));
  const refused = dropped.find((name) => !oftenSent.includes(name));
  if (refused === undefined) return dropped.map(nameOf);
  const param = nameOf(refused);
  const message = `${param} is not supported here. Leave it out.`;
  throw openAiErrors.invalid_request_error({ message }, { details: { param } });
}

function hasEffect(request: CompletionRequest, name: string): boolean {
  const value = request[name];
  if (value === undefined || value === null) return false;
  if (name === 'tool_choice') return value !== 'auto' && value !== 'none';
  return JSON.stringify(value) !== usual[name];
}
