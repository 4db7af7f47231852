import type { TaskEngine } from '@trunkline/a2a';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { MayJoin } from '../callers.ts';
import { chatMetadata } from '../chats/chat-recorder.ts';
import type { ChatStore } from '../chats/chat-store.ts';
import { converse, type MayAnswer } from '../turns/converse.ts';
import type { SessionMemory } from '../turns/session-memory.ts';
import { plainMessages } from '../turns/session-record.ts';
import type { SessionStore } from '../turns/session-store.ts';
import { taskText } from '../turns/task-text.ts';
import { consoleErrors } from './console/errors.ts';
import { fromEngine } from './engine-failure.ts';

export interface ChatRoutes {
  engine: TaskEngine;
  sessions: SessionStore;
  memory: SessionMemory;
  chats: ChatStore;
  mayAnswer: MayAnswer;
  mayJoin: MayJoin;
  /** Whether whoever comes in is the operator. */
  isOpen: boolean;
}

const body = z.object({
  message: z.string().trim().min(1),
  session_id: z.string().min(1).max(500).optional(),
});

/** Plain chat: one message in, one answer out; a question of the agent is answered by the next message. */
export function mountChat(
  app: Hono<AppEnv>,
  { engine, sessions, memory, chats, mayAnswer, mayJoin, isOpen }: ChatRoutes,
): void {
  app.post(
    '/api/chat',
    describeRoute({ summary: 'Say something and get the answer' }),
    validate('json', body),
    async (context) => {
      const principal = context.get('principal');
      const standard = isOpen || principal.kind === 'operator' ? 'api-default' : 'api-guest';
      const { message, session_id = standard } = context.req.valid('json');
      if (!mayJoin(session_id, principal)) throw consoleErrors.chat_of_others();
      const task = await fromEngine(() =>
        converse(
          engine,
          {
            contextId: session_id,
            text: message,
            principal,
            metadata: chatMetadata,
          },
          mayAnswer,
        ),
      );
      return context.json({
        response: taskText(task),
        messages: plainMessages(sessions.load(session_id).messages),
        state: task.state,
        task_id: task.id,
      });
    },
  );
  app.delete(
    '/api/chat/sessions/:id',
    describeRoute({ summary: 'Forget a conversation' }),
    async (context) => {
      const id = context.req.param('id');
      if (!mayJoin(id, context.get('principal'))) throw consoleErrors.chat_of_others();
      for (const task of openTasks(engine, id)) engine.cancel(task, false);
      await memory.forget(id);
      const deleted = [sessions.delete(id), chats.delete(id)].includes(true);
      return context.json({ ok: true, deleted });
    },
  );
}

/** The tasks of a conversation that run or wait. */
function openTasks(engine: TaskEngine, contextId: string): string[] {
  const states = ['working', 'input-required', 'auth-required'];
  return states.flatMap((state) => engine.list({ contextId, state }).tasks.map(({ id }) => id));
}
