import { createHash } from 'node:crypto';
import {
  type A2aClient,
  type A2aDelegate,
  answerFrom,
  RemoteAgentError,
  type RemoteReply,
} from '@trunkline/a2a';
import type { Database } from '@trunkline/storage';
import { type Delegate, DelegateError, type DelegateErrorCode } from '@trunkline/tools';
import { SweptTable } from '../store/database.ts';

/** One delegation whose answer may also arrive by the callback. */
export interface LateAnswers {
  /** Address and token for the agent. */
  open(): { url: string; token: string };
  /** The answer came in the response. */
  answered(token: string): void;
  /** It did not. Returns what was pushed meanwhile, if anything. */
  missed(token: string): string | undefined;
  /** The callback will bring it; until then the same question is not asked again. */
  expect(token: string, query: string): void;
  isExpected(query: string): boolean;
}

export interface AgentDelegate extends A2aDelegate {
  answerTimeoutMs?: number;
}

export interface AgentDelegateParts {
  client: A2aClient;
  /** Undefined if the agent cannot reach this service. */
  late: LateAnswers | undefined;
  /** The task in which the agent waits for an answer, if any. */
  question: { find(): WaitingTask | undefined; set(task: WaitingTask | undefined): void };
}

/** Less than the tool allows, so that a late answer is announced and not only missed. */
const longestAnswerMs = 100_000;

/** A remote agent: one request, one answer. With `late` the answer may come after the call. */
export function createAgentDelegate(entry: AgentDelegate, parts: AgentDelegateParts): Delegate {
  const { name, description, agent, answerTimeoutMs = longestAnswerMs } = entry;
  const { client, late, question } = parts;
  return {
    name,
    description,
    async ask(query, { signal, sessionId, principal, timezone }) {
      const asked = question.find();
      if (asked === undefined && late?.isExpected(query)) return comesLater(name);
      const push = late?.open();
      const message = {
        text: query,
        contextId: contextOf(sessionId, name),
        ...asked,
        // Where somebody lives concerns our own services alone.
        ...(agent.peer !== undefined && timezone !== undefined && { metadata: { timezone } }),
        ...(push && { push }),
      };
      const timeoutMs = push === undefined ? longestAnswerMs : answerTimeoutMs;
      try {
        const reply = await client.send(agent, message, { signal, timeoutMs, principal });
        if (push !== undefined) late?.answered(push.token);
        const waiting = waitingTask(reply);
        question.set(waiting);
        return waiting === undefined ? answerFrom(agent, reply) : askedBack(name, reply.statusText);
      } catch (error) {
        const pushed = push === undefined ? undefined : late?.missed(push.token);
        if (pushed !== undefined) return pushed;
        if (push !== undefined && isLate(error)) {
          late?.expect(push.token, query);
          return comesLater(name);
        }
        if (isRefusal(error)) question.set(undefined);
        throw explain(error);
      }
    },
  };
}

function waitingTask({ state, taskId, contextId }: RemoteReply): WaitingTask | undefined {
  if (state !== 'input-required' || taskId === undefined) return undefined;
  return { taskId, ...(contextId && { contextId }) };
}

function askedBack(name: string, question: string): string {
  return `${name} asks: ${question}\nPut this question to the user. Then hand the answer to ${name} with delegate_to.`;
}

function isLate(error: unknown): boolean {
  return error instanceof RemoteAgentError && error.code === 'agent_timeout';
}

/** An agent that fails, for example because it lost the task, no longer waits for an answer. */
function isRefusal(error: unknown): boolean {
  return error instanceof RemoteAgentError && error.code === 'agent_error';
}

function comesLater(name: string): string {
  return `${name} is still at it. Its answer will be told when it is there. Until then, the conversation goes on.`;
}

/** One context per session and agent, so that the agent knows what was said before. */
function contextOf(sessionId: string, name: string): string {
  const hex = createHash('sha256').update(`${name}\n${sessionId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const codes: Partial<Record<RemoteAgentError['code'], DelegateErrorCode>> = {
  agent_unreachable: 'delegate_unreachable',
  agent_unauthorized: 'delegate_refused',
  agent_unknown_caller: 'delegate_refused',
  agent_timeout: 'delegate_silent',
  agent_no_answer: 'delegate_silent',
};

/** The client's messages can be spoken as they are. */
function explain(error: unknown): unknown {
  if (!(error instanceof RemoteAgentError)) return error;
  return new DelegateError(codes[error.code] ?? 'delegate_failed', error.message, { cause: error });
}

interface WaitingTask {
  taskId: string;
  contextId?: string;
}

/** Questions that delegates asked back: the next query that a user hands to such a delegate is the answer. */
export class OpenQuestions {
  readonly #table: SweptTable<WaitingTask>;

  constructor(database: Database) {
    this.#table = new SweptTable<WaitingTask>(database, 'open_questions');
  }

  find(userId: string, delegate: string): WaitingTask | undefined {
    return this.#table.get(keyOf(userId, delegate));
  }

  /** A newer question replaces an older one; without a task the question is closed. */
  set(userId: string, delegate: string, task: WaitingTask | undefined): void {
    if (task === undefined) this.#table.delete(keyOf(userId, delegate));
    else this.#table.set(keyOf(userId, delegate), task);
  }
}

function keyOf(userId: string, delegate: string): string {
  return JSON.stringify([userId, delegate]);
}
