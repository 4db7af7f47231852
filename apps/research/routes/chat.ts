import { type AppEnv, describeRoute, streamText, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { answerChat, type ChatDeps } from '../chat/answer.ts';
import { type Conversation, chatSchema } from '../chat/conversations.ts';
import { researchErrors } from '../errors.ts';
import { listSchema } from './guards.ts';

const DESCRIPTION =
  'Lines of a prefix and JSON: 0 text, 2 tool calls, 8 a question to the user (type clarification) or the answer with its statements and the figures of its charts checked (type citations), d the end with usage, e an error.';

/** The search chat, and its stored conversations. */
export function mountChat(app: Hono<AppEnv>, deps: ChatDeps): void {
  app.post(
    '/api/chat',
    describeRoute({
      summary: 'Answer a conversation',
      description: DESCRIPTION,
      mediaType: 'text/plain',
      errors: [researchErrors.quota_exceeded],
    }),
    validate('json', chatSchema),
    (c) => {
      const request = { ...c.req.valid('json'), principal: c.get('principal') };
      const { id, messages, principal } = request;
      const refusal = id === undefined ? undefined : deps.conversations.refusal(id, messages, principal);
      if (refusal !== undefined) throw researchErrors.quota_exceeded({ refusal });
      return streamText(c, {
        contentType: 'text/plain; charset=utf-8',
        headers: { 'x-vercel-ai-data-stream': 'v1' },
        chunks: ({ signal }) => answerChat(request, deps, signal),
      });
    },
  );

  app.get(
    '/api/chat',
    describeRoute({ summary: 'The newest conversations; `q` finds words in them' }),
    validate('query', listSchema),
    (c) => {
      const { q, limit } = c.req.valid('query');
      return c.json({ conversations: deps.conversations.find(q, limit, c.get('principal')).map(toEntry) });
    },
  );

  app.get(
    '/api/chat/:id',
    describeRoute({ summary: 'A stored conversation', errors: [researchErrors.conversation_not_found] }),
    (c) => {
      const found = deps.conversations.get(c.req.param('id'), c.get('principal'));
      if (found === undefined) throw researchErrors.conversation_not_found();
      const { id, messages, checkpoint, updatedAt } = found;
      return c.json({
        id,
        messages,
        awaitingAnswer: checkpoint !== undefined,
        updatedAt: new Date(updatedAt).toISOString(),
      });
    },
  );

  app.delete(
    '/api/chat/:id',
    describeRoute({
      summary: 'Delete a stored conversation',
      status: 204,
      errors: [researchErrors.conversation_not_found],
    }),
    (c) => {
      const found = deps.conversations.get(c.req.param('id'), c.get('principal'));
      if (found === undefined) throw researchErrors.conversation_not_found();
      deps.conversations.delete(found);
      return c.body(null, 204);
    },
  );
}

function toEntry({ id, messages, updatedAt }: Conversation) {
  const question = messages.find(({ role }) => role === 'user')?.content ?? '';
  return {
    id,
    title: question.slice(0, 200),
    messages: messages.length,
    updatedAt: new Date(updatedAt).toISOString(),
  };
}
