import {
  type AppEnv,
  describeRoute,
  type ErrorKind,
  HttpError,
  type Logger,
  type SseFrame,
  sse,
  validate,
} from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Context, Hono } from 'hono';
import { type AnswerEvent, Completion } from './completion.ts';
import { openAiErrorBody, openAiErrors } from './errors.ts';
import { ignoredParameters, type ModelParameter } from './parameters.ts';
import { type CompletionRequest, checkContent, completionRequest } from './request.ts';

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
  /** Parameters of requests that reach a model; others are refused, or named in the header of the answer. */
  parameters?: (model: string) => readonly ModelParameter[];
  /** Words for a caller who keeps too much already. */
  refusal?: (principal: Principal) => string | undefined;
  /** Failures of the service's own, for `/openapi.json`. */
  errors?: readonly ErrorKind[];
  /** How long a stream waits for its first event, so that an early failure is an HTTP status; default 15 seconds. */
  statusWaitMs?: number;
}

export interface CompletionCall {
  /** The id of the completion. */
  id: string;
  request: CompletionRequest;
  principal: Principal;
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
}

export type Answer = (call: CompletionCall) => AsyncGenerator<AnswerEvent, void>;

/** Mounts chat completions and the list of models. Mount a guard for `/v1/*` before. */
export function mountOpenAiApi<Caller>(app: Hono<AppEnv<Caller>>, api: OpenAiApi): void {
  const described = (id: string) => ({ id, object: 'model', created: 0, owned_by: api.ownedBy });
  app.get('/v1/models', describeRoute({ summary: 'List the models' }), (context) =>
    context.json({ object: 'list', data: api.models().map(described) }),
  );
  // Clients encode the slash of an id such as agent/skill.
  app.get(
    '/v1/models/:id',
    describeRoute({ summary: 'Get a model', errors: [openAiErrors.model_not_found] }),
    (context) => {
      const id = context.req.param('id');
      requireModel(api, id);
      return context.json(described(id));
    },
  );
  const { model_not_found, rate_limit_error, insufficient_quota, upstream_error } = openAiErrors;
  app.post(
    '/v1/chat/completions',
    describeRoute({
      summary: 'Create a chat completion, whole or as a stream',
      errors: [model_not_found, rate_limit_error, insufficient_quota, upstream_error, ...(api.errors ?? [])],
    }),
    validate('json', completionRequest),
    (context) => complete(context, context.req.valid('json'), api),
  );
}

async function complete<Caller>(
  context: Context<AppEnv<Caller>>,
  request: CompletionRequest,
  api: OpenAiApi,
): Promise<Response> {
  const model = request.model || api.defaultModel?.() || '';
  const answer = requireModel(api, model);
  checkContent(request, api);
  const ignored = ignoredParameters(request, api.parameters?.(model) ?? []);
  const headers = (): Record<string, string> =>
    ignored.length === 0 ? {} : { 'x-ignored-parameters': ignored.join(', ') };
  const message = api.refusal?.(context.get('principal'));
  if (message !== undefined) throw openAiErrors.insufficient_quota({ message });
  const completion = new Completion(model);
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  context.req.raw.signal.addEventListener('abort', leave, { once: true });
  const { id } = completion;
  const events = answer({ id, request, principal: context.get('principal'), signal: leaving.signal });
  if (!request.stream) {
    const body = await wholeAnswer(events, completion, ignored);
    return context.json(body, 200, headers());
  }
  let first: Promise<IteratorResult<AnswerEvent, void>>;
  let early: IteratorResult<AnswerEvent, void> | undefined;
  do {
    first = events.next();
    early = await settledWithin(first, api.statusWaitMs ?? 15_000);
    if (early?.value?.type === 'ignored-parameters') ignored.push(...early.value.names);
  } while (early?.value?.type === 'ignored-parameters');
  const render = (event: AnswerEvent) =>
    completion.chunks(event, request.stream_options?.include_usage === true);
  return sse(context, {
    headers: headers(),
    events: ({ signal }) => {
      signal.addEventListener('abort', leave, { once: true });
      return frames(first, events, render, { opening: completion.opening(), logger: context.get('logger') });
    },
  });
}

function requireModel(api: OpenAiApi, id: string): Answer {
  const some = api.models().slice(0, 10).join(', ');
  if (id === '')
    throw openAiErrors.invalid_request_error({ message: `model: name one, for example of ${some}` });
  const answer = api.findModel(id);
  if (answer !== undefined) return answer;
  const message = `There is no model "${id}" here. Ask for one that GET /v1/models lists: ${some}.`;
  throw openAiErrors.model_not_found({ message });
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

async function wholeAnswer(
  events: ReturnType<Answer>,
  completion: Completion,
  ignored: string[],
): Promise<object> {
  let text = '';
  let reasoning = '';
  for await (const event of events) {
    if (event.type === 'text-delta') text += event.text;
    if (event.type === 'reasoning-delta') reasoning += event.text;
    if (event.type === 'ignored-parameters') ignored.push(...event.names);
    if (event.type === 'end') return completion.whole(text, reasoning, event);
  }
  throw openAiErrors.upstream_error({ message: 'The request ended before there was an answer.' });
}

async function* frames(
  first: Promise<IteratorResult<AnswerEvent, void>>,
  rest: ReturnType<Answer>,
  render: (event: AnswerEvent) => object[],
  { opening, logger }: { opening: object; logger: Logger },
): AsyncGenerator<SseFrame> {
  const frame = (data: object): SseFrame => ({ data: JSON.stringify(data) });
  try {
    yield frame(opening);
    const { value, done } = await first;
    if (!done) yield* render(value).map(frame);
    for await (const event of rest) yield* render(event).map(frame);
  } catch (error) {
    // The status is sent, so the failure is an event; throwing would cut off what is still on its way.
    if (!(error instanceof HttpError)) logger.error({ err: error }, 'chat completion failed');
    yield frame(openAiErrorBody(error instanceof HttpError ? error : internal));
  } finally {
    await rest.return();
  }
  yield { data: '[DONE]' };
}

const internal = { message: 'The answer failed; the log says why.', code: 'internal', status: 500 };
