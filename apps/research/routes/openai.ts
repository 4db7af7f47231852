import { type AppEnv, describeRoute, HttpError, type SseFrame, sse, validate } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { researchErrors } from '../errors.ts';
import { Completion, type Piece } from '../openai/completion.ts';
import { openAiErrorBody } from '../openai/error-body.ts';
import { type ModelParts, models } from '../openai/models.ts';
import { type CompletionRequest, completionSchema } from '../openai/request.ts';

/** Chat and deep research as models of an OpenAI-compatible API. */
export function mountOpenAi(app: Hono<AppEnv>, parts: ModelParts): void {
  const { model_not_found, model_failed } = researchErrors;
  const listed = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'trunkline' });

  app.get('/v1/models', describeRoute({ summary: 'What can be asked as a model' }), (c) =>
    c.json({ object: 'list', data: [...models.keys()].map(listed) }),
  );

  app.get('/v1/models/:id', describeRoute({ summary: 'One model', errors: [model_not_found] }), (c) => {
    const id = c.req.param('id');
    if (!models.has(id)) throw model_not_found({ name: id });
    return c.json(listed(id));
  });

  app.post(
    '/v1/chat/completions',
    describeRoute({
      summary: 'An answer of research-chat, or a report of research-deep, as a chat completion',
      errors: [model_not_found, model_failed],
    }),
    validate('json', completionSchema),
    (c) => complete(c, c.req.valid('json'), parts),
  );
}

async function complete(
  context: Context<AppEnv>,
  request: CompletionRequest,
  parts: ModelParts,
): Promise<Response> {
  const answer = models.get(request.model);
  if (answer === undefined) throw researchErrors.model_not_found({ name: request.model });
  const leaving = new AbortController();
  context.req.raw.signal.addEventListener('abort', () => leaving.abort(), { once: true });
  const pieces = answer(request, parts, leaving.signal);
  const completion = new Completion(request.model);
  if (request.stream !== true) return context.json(await collect(pieces, completion));
  // Until something has come, a failure can still be an HTTP status.
  const first = await pieces.next();
  const withUsage = request.stream_options?.include_usage === true;
  return sse(context, {
    events: ({ signal }) => {
      signal.addEventListener('abort', () => leaving.abort(), { once: true });
      return frames(first, pieces, (piece) => completion.chunks(piece, withUsage), completion.opening());
    },
  });
}

async function collect(pieces: AsyncIterable<Piece>, completion: Completion): Promise<object> {
  let text = '';
  for await (const piece of pieces) {
    if (piece.type === 'text') text += piece.text;
    if (piece.type === 'end') return completion.whole(text, piece);
  }
  throw researchErrors.model_failed({ words: 'The answer broke off.' });
}

async function* frames(
  first: IteratorResult<Piece>,
  rest: AsyncIterable<Piece>,
  chunksOf: (piece: Piece) => object[],
  opening: object,
): AsyncGenerator<SseFrame> {
  const frame = (data: object): SseFrame => ({ data: JSON.stringify(data) });
  yield frame(opening);
  if (!first.done) yield* chunksOf(first.value).map(frame);
  try {
    for await (const piece of rest) yield* chunksOf(piece).map(frame);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    yield frame(openAiErrorBody(error));
  }
  yield { data: '[DONE]' };
}
