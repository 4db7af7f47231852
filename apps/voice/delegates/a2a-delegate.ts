import { createHash } from 'node:crypto';
import { type A2aClient, type A2aDelegate, RemoteAgentError } from '@trunkline/a2a';
import { type Delegate, DelegateError, type DelegateErrorCode } from '@trunkline/tools';

/** One delegation whose answer may also come by the callback. */
export interface LateAnswers {
  /** Address and token for the agent. */
  open(): { url: string; token: string };
  /** The answer came on the line. */
  answered(token: string): void;
  /** It did not; gives what was pushed meanwhile, if anything. */
  missed(token: string): string | undefined;
}

/** Less than the tool allows, so that a late answer is announced and not only missed. */
const longestAnswerMs = 100_000;

/** A remote agent: one request, one answer. With `late` it may also answer when the call is over. */
export function createAgentDelegate(
  { name, description, agent }: A2aDelegate,
  client: A2aClient,
  late: LateAnswers | undefined,
): Delegate {
  return {
    name,
    description,
    async ask(query, { signal, sessionId }) {
      const push = late?.open();
      const message = { text: query, contextId: contextOf(sessionId, name), ...(push && { push }) };
      try {
        const answer = await client.ask(agent, message, { signal, timeoutMs: longestAnswerMs });
        if (push !== undefined) late?.answered(push.token);
        return answer;
      } catch (error) {
        const pushed = push === undefined ? undefined : late?.missed(push.token);
        if (pushed !== undefined) return pushed;
        throw explain(error, name, push !== undefined);
      }
    },
  };
}

/** The same for every question of a session to one agent, so that it knows what was said before. */
function contextOf(sessionId: string, name: string): string {
  const hex = createHash('sha256').update(`${name}\n${sessionId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const codes: Partial<Record<RemoteAgentError['code'], DelegateErrorCode>> = {
  agent_unreachable: 'delegate_unreachable',
  agent_unauthorized: 'delegate_refused',
  agent_timeout: 'delegate_silent',
  agent_no_answer: 'delegate_silent',
};

/** The client's words can be spoken as they are. */
function explain(error: unknown, name: string, mayComeLate: boolean): unknown {
  if (!(error instanceof RemoteAgentError)) return error;
  const words =
    error.code === 'agent_timeout' && mayComeLate
      ? `${name} is still at it. I will tell you when it answers.`
      : error.message;
  return new DelegateError(codes[error.code] ?? 'delegate_failed', words, { cause: error });
}
