import {
  type AppEnv,
  describeRoute,
  HttpError,
  type Logger,
  type SseFrame,
  sse,
  validate,
} from '@trunkline/http';
import type { Context, Hono } from 'hono';
import {
  type Answer,
  checkRequest,
  firstEvent,
  ignoredHeader,
  internalFailure,
  type OpenAiApi,
  requireModel,
  resumed,
} from './api.ts';
import { type AnswerEvent, Completion, type UrlCitation } from './completion.ts';
import { openAiErrorBody, openAiErrors } from './errors.ts';
import { type CompletionRequest, completionRequest } from './request.ts';
import { mountResponses } from './responses/routes.ts';

/** Mounts chat completions, responses where they are kept, and the list of models. Mount a guard for `/v1/*` before. */
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
  if (api.responses !== undefined) mountResponses(app, api, api.responses);
}

async function complete<Caller>(
  context: Context<AppEnv<Caller>>,
  body: CompletionRequest,
  api: OpenAiApi,
): Promise<Response> {
  const request = { ...body, model: body.model || api.defaultModel?.() || '' };
  const answer = requireModel(api, request.model);
  const principal = context.get('principal');
  const ignored = checkRequest(api, request, principal);
  const completion = new Completion(request.model);
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  context.req.raw.signal.addEventListener('abort', leave, { once: true });
  const events = answer({ id: completion.id, request: body, principal, signal: leaving.signal });
  if (!request.stream) {
    const whole = await wholeAnswer(events, completion, ignored);
    return context.json(whole, 200, ignoredHeader(ignored));
  }
  const begun = await firstEvent(events, api, ignored);
  const render = (event: AnswerEvent) =>
    completion.chunks(event, request.stream_options?.include_usage === true);
  return sse(context, {
    headers: ignoredHeader(ignored),
    events: ({ signal }) => {
      signal.addEventListener('abort', leave, { once: true });
      const opening = completion.opening();
      return frames(resumed(begun, events), render, { opening, logger: context.get('logger') });
    },
  });
}

async function wholeAnswer(
  events: ReturnType<Answer>,
  completion: Completion,
  ignored: string[],
): Promise<object> {
  let text = '';
  let reasoning = '';
  const citations: UrlCitation[] = [];
  for await (const event of events) {
    if (event.type === 'text-delta') text += event.text;
    if (event.type === 'reasoning-delta') reasoning += event.text;
    if (event.type === 'citation') citations.push(event.citation);
    if (event.type === 'ignored-parameters') ignored.push(...event.names);
    if (event.type === 'end') return completion.whole({ text, reasoning, citations }, event);
  }
  throw openAiErrors.upstream_error({ message: 'The request ended before there was an answer.' });
}

async function* frames(
  events: AsyncIterable<AnswerEvent>,
  render: (event: AnswerEvent) => object[],
  { opening, logger }: { opening: object; logger: Logger },
): AsyncGenerator<SseFrame> {
  const frame = (data: object): SseFrame => ({ data: JSON.stringify(data) });
  try {
    yield frame(opening);
    for await (const event of events) yield* render(event).map(frame);
  } catch (error) {
    // The status is sent, so the failure is an event; throwing would cut off what is still on its way.
    if (!(error instanceof HttpError)) logger.error({ err: error }, 'chat completion failed');
    yield frame(openAiErrorBody(error instanceof HttpError ? error : internalFailure));
  }
  yield { data: '[DONE]' };
}
