import { createHash, randomUUID } from 'node:crypto';
import { createGuardedFetch, HttpError } from '@trunkline/http';
import { type Delegate, type DelegateContext, DelegateError } from '@trunkline/tools';
import { z } from 'zod';
import type { AgentEntry } from './schema.ts';

export interface AgentDelegateOptions
  extends Pick<AgentEntry, 'name' | 'description' | 'url' | 'headers' | 'auth'> {
  credential: string | undefined;
  /** Where the agent may send an answer that comes too late for the call. */
  late?: LateAnswers | undefined;
}

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
const answerSchema = z.looseObject({
  error: z.unknown().optional(),
  result: z
    .looseObject({ artifacts: z.array(z.unknown()).optional(), task: z.unknown().optional() })
    .optional(),
});
const artifactSchema = z.looseObject({ parts: z.array(z.looseObject({ text: z.string().optional() })) });

/** A remote agent: one request, one answer. Its address is the operator's, so it may be private. */
export function createAgentDelegate(options: AgentDelegateOptions): Delegate {
  const { name, description, late } = options;
  return {
    name,
    description,
    async ask(query, context) {
      const line = late?.open();
      try {
        const answer = await send(options, bodyOf(query, name, context.sessionId, line), context.signal);
        if (line !== undefined) late?.answered(line.token);
        return answer;
      } catch (error) {
        const pushed = line === undefined ? undefined : late?.missed(line.token);
        if (pushed !== undefined) return pushed;
        throw explain(error, options, context, line !== undefined);
      }
    },
  };
}

function bodyOf(
  query: string,
  name: string,
  sessionId: string,
  line: { url: string; token: string } | undefined,
) {
  return {
    jsonrpc: '2.0',
    id: randomUUID(),
    method: 'message/send',
    params: {
      contextId: contextOf(sessionId, name),
      message: {
        kind: 'message',
        messageId: randomUUID(),
        role: 'user',
        parts: [{ kind: 'text', text: query }],
      },
      ...(line && { configuration: { blocking: true, pushNotificationConfig: line } }),
    },
  };
}

/** The same for every question of a session to one agent, so that it knows what was said before. */
function contextOf(sessionId: string, name: string): string {
  const hex = createHash('sha256').update(`${name}\n${sessionId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function send(options: AgentDelegateOptions, body: object, signal: AbortSignal): Promise<string> {
  const address = new URL(options.url);
  const fetch = createGuardedFetch({
    allowedHosts: [address.hostname],
    timeoutMs: longestAnswerMs,
    maxRedirects: 0,
  });
  const headers = { 'content-type': 'application/json', ...options.headers, ...credentials(options) };
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const { name } = options;
  if (response.status === 401 || response.status === 403)
    throw new DelegateError('delegate_refused', `${name} refuses the key it was given.`);
  if (response.status < 200 || response.status > 299)
    throw new DelegateError('delegate_failed', `${name} failed to answer.`);
  return answerOf(name, response.text());
}

function credentials({ auth, credential, name }: AgentDelegateOptions): Record<string, string> {
  if (auth === undefined) return {};
  if (credential === undefined)
    throw new DelegateError('delegate_refused', `${name} needs a key that has not been set up yet.`);
  return auth.scheme === 'apiKey' ? { 'X-API-Key': credential } : { Authorization: `Bearer ${credential}` };
}

/** The first text of the first artifact. */
function answerOf(name: string, text: string): string {
  const parsed = answerSchema.safeParse(jsonOf(text));
  if (!parsed.success)
    throw new DelegateError('delegate_failed', `${name} gave an answer that cannot be read.`);
  const { error, result } = parsed.data;
  if (error !== undefined && error !== null)
    throw new DelegateError('delegate_failed', `${name} could not do it.`);
  const task = answerSchema.shape.result.safeParse(result?.task).data ?? result;
  const artifact = artifactSchema.safeParse(task?.artifacts?.[0]);
  const words = artifact.data?.parts.find((part) => part.text !== undefined)?.text;
  if (words === undefined) throw new DelegateError('delegate_silent', `${name} gave no answer.`);
  return words;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function explain(
  error: unknown,
  { name }: AgentDelegateOptions,
  { signal }: DelegateContext,
  mayComeLate: boolean,
): unknown {
  if (signal.aborted || !(error instanceof HttpError)) return error;
  if (error.code === 'fetch_timeout' && mayComeLate)
    return new DelegateError('delegate_silent', `${name} is still at it. I will tell you when it answers.`);
  return new DelegateError('delegate_unreachable', `${name} cannot be reached right now.`, { cause: error });
}
