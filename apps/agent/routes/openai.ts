import { type AppEnv, describeRoute, type SseFrame, sse, validate } from '@trunkline/http';
import type { ErrorEvent, TurnEvent } from '@trunkline/loop';
import type { Context, Hono } from 'hono';
import {
  asFailure,
  type CompletionSurroundings,
  completionTurn,
  failureOf,
} from '../openai/agent-completion.ts';
import { type CompletionHead, chunksOf, completionOf, newHead, openingChunk } from '../openai/completion.ts';
import { openAiErrorBody } from '../openai/errors.ts';
import { type CompletionRequest, completionRequest } from '../openai/request.ts';

export interface OpenAiRoutes extends CompletionSurroundings {
  /** The name under which the agent is listed as a model. */
  agentName: string;
}

type Events = AsyncGenerator<TurnEvent, void>;

/** The agent as a model of an OpenAI-compatible API; whatever model a request names, the agent answers. */
export function mountOpenAi(app: Hono<AppEnv>, routes: OpenAiRoutes): void {
  const listed = { id: routes.agentName, object: 'model', created: 0, owned_by: 'trunkline' };
  app.get('/v1/models', describeRoute({ summary: 'The agent, listed as a model' }), () =>
    Response.json({ object: 'list', data: [listed] }),
  );
  app.get('/v1/models/:id', describeRoute({ summary: 'The agent as a model' }), (context) =>
    Response.json({ ...listed, id: context.req.param('id') }),
  );
  app.post(
    '/v1/chat/completions',
    describeRoute({ summary: 'A turn of the agent in the form of a chat completion' }),
    validate('json', completionRequest),
    (context) => complete(context, context.req.valid('json'), routes),
  );
}

async function complete(
  context: Context<AppEnv>,
  request: CompletionRequest,
  routes: OpenAiRoutes,
): Promise<Response> {
  const head = newHead(request.model || routes.agentName);
  const controller = new AbortController();
  const leave = () => controller.abort();
  context.req.raw.signal.addEventListener('abort', leave, { once: true });
  const events = completionTurn(request, context.get('principal'), controller.signal, routes);
  if (!request.stream) return wholeAnswer(events, head);
  // Until something has come, a failure can still be an HTTP status.
  const first = await firstEvent(events);
  return sse(context, {
    events: ({ signal }) => {
      signal.addEventListener('abort', leave, { once: true });
      return frames(first, events, head, request.stream_options?.include_usage === true);
    },
  });
}

async function wholeAnswer(events: Events, head: CompletionHead): Promise<Response> {
  for (;;) {
    const event = await firstEvent(events);
    if (event.type === 'end' || event.type === 'pause') return Response.json(completionOf(head, event));
  }
}

async function firstEvent(events: Events): Promise<Exclude<TurnEvent, ErrorEvent>> {
  const { value, done } = await events.next().catch((error: unknown) => {
    throw asFailure(error);
  });
  if (done) throw new Error('The turn ended without an end.');
  if (value.type === 'error') throw failureOf(value);
  return value.type === 'wait' ? await firstEvent(events) : value;
}

async function* frames(
  first: Exclude<TurnEvent, ErrorEvent>,
  rest: Events,
  head: CompletionHead,
  withUsage: boolean,
): AsyncGenerator<SseFrame> {
  yield frame(openingChunk(head));
  for (const chunk of chunksOf(head, first, withUsage)) yield frame(chunk);
  for await (const event of rest) {
    if (event.type === 'error') yield frame(openAiErrorBody(failureOf(event)));
    else for (const chunk of chunksOf(head, event, withUsage)) yield frame(chunk);
  }
  yield { data: '[DONE]' };
}

function frame(data: object): SseFrame {
  return { data: JSON.stringify(data) };
}
