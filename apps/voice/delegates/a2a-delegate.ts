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

/** One delegation whose answer may also come by the callback. */
export interface LateAnswers {
  /** Address and token for the agent. */
  open(): { url: string; token: string };
  /** The answer came on the line. */
  answered(token: string): void;
  /** It did not; gives what was pushed meanwhile, if anything. */
  missed(token: string): string | undefined;
  /** It will come by the callback: until then the same question is not asked again. */
  expect(token: string, query: string): void;
  /** Whether the answer to this question is still to come by the callback. */
  isExpected(query: string): boolean;
}

/** An agent, and how long a caller waits for it on the line where its answer may come later. */
export interface AgentDelegate extends A2aDelegate {
  answerTimeoutMs?: number;
}

export interface AgentDelegateParts {
  client: A2aClient;
  /** Undefined where the agent cannot reach this service. */
  late: LateAnswers | undefined;
  /** What the agent has asked back, if anything. */
  question: { find(): WaitingTask | undefined; set(task: WaitingTask | undefined): void };
}

/** Less than the tool allows, so that a late answer is announced and not only missed. */
const longestAnswerMs = 100_000;

/** A remote agent: one request, one answer. With `late` it may also answer when the call is over. */
export function createAgentDelegate(entry: AgentDelegate, parts: AgentDelegateParts): Delegate {
  const { name, description, agent, answerTimeoutMs = longestAnswerMs } = entry;
  const { client, late, question } = parts;
  return {
    name,
    description,
    async ask(query, { signal, sessionId, principal }) {
      const asked = question.find();
      if (asked === undefined && late?.isExpected(query)) return comesLater(name);
      const push = late?.open();
      const message = {
        text: query,
        contextId: contextOf(sessionId, name),
        ...asked,
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

/** An agent that answers with a failure, such as a task that it has lost, waits for no answer any more. */
function isRefusal(error: unknown): boolean {
  return error instanceof RemoteAgentError && error.code === 'agent_error';
}

function comesLater(name: string): string {
  return `${name} is still at it. Its answer will be told when it is there. Until then, the conversation goes on.`;
}

/** The same for every question of a session to one agent, so that it knows what was said before. */
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

/** The client's words can be spoken as they are. */
function explain(error: unknown): unknown {
  if (!(error instanceof RemoteAgentError)) return error;
  return new DelegateError(codes[error.code] ?? 'delegate_failed', error.message, { cause: error });
}

/** A task of another agent that goes on once it is answered. */
interface WaitingTask {
  taskId: string;
  contextId?: string;
}

/** What delegates have asked a user back: the next thing the user has handed to one of them is the answer. */
export class OpenQuestions {
  readonly #table: SweptTable<WaitingTask>;

  constructor(database: Database) {
    this.#table = new SweptTable<WaitingTask>(database, 'open_questions');
  }

  find(userId: string, delegate: string): WaitingTask | undefined {
    return this.#table.get(keyOf(userId, delegate));
  }

  /** A newer question takes the place of an older one; without a task there is none any more. */
  set(userId: string, delegate: string, task: WaitingTask | undefined): void {
    if (task === undefined) this.#table.delete(keyOf(userId, delegate));
    else this.#table.set(keyOf(userId, delegate), task);
  }
}

function keyOf(userId: string, delegate: string): string {
  return JSON.stringify([userId, delegate]);
}
