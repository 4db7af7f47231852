import type { Principal } from '@trunkline/identity';
import { defineTool, type ForeignDescription, type Tool, type ToolContext } from '@trunkline/llm';
import { CodedError, Deadline } from '@trunkline/std';
import { z } from 'zod';
import { failure } from '../failure.ts';

export interface DelegateToOptions {
  delegates: readonly Delegate[];
  /** How long a delegate may be silent unless it says otherwise; default two minutes. */
  timeoutMs?: number;
}

/** Hands a part of the work to someone else; there must be at least one delegate. */
export function createDelegateTo({ delegates, timeoutMs = 120_000 }: DelegateToOptions): Tool {
  const byName = new Map(delegates.map((delegate) => [delegate.name, delegate]));
  const describedIn = delegates.flatMap((delegate) => delegate.describedIn ?? []);
  return defineTool({
    name: 'delegate_to',
    effects: ['sends'],
    // What others have begun goes on there, and would be begun once more.
    idempotent: delegates.every(({ idempotent }) => idempotent) && 'by-key',
    isOnce: ({ target }, sessionId) => byName.get(target)?.answers?.(sessionId) === true,
    external: !delegates.every(({ reportsOrigins }) => reportsOrigins),
    subject: ({ target }) => ({ recipient: target, ...(byName.get(target)?.internal && { internal: true }) }),
    description: `Hands a task to another agent and gives its answer. Targets:\n${delegates.map(line).join('\n')}`,
    ...(describedIn.length > 0 && { describedIn }),
    input: inputFor([...byName.keys()]),
    timeoutMs: Math.max(timeoutMs, ...delegates.map((delegate) => delegate.timeoutMs ?? 0)) + 5000,
    callKey: ({ target, query }) => JSON.stringify([target, questionKey(query)]),
    answeredBy: ({ target }) => target,
    async execute({ target, query }, context) {
      const { signal, sessionId, principal, timezone, addOrigins, approved, idempotencyKey } = context;
      const { onActivity, attach, permits } = context;
      const delegate = byName.get(target);
      if (delegate === undefined)
        return `Error: there is no one called ${target}. Known: ${[...byName.keys()].join(', ')}.`;
      if (query.trim() === '') return `Error: say what ${target} is to do.`;
      return await ask(delegate, query, {
        signal,
        sessionId,
        principal,
        timezone,
        addOrigins,
        approved,
        idempotencyKey,
        onActivity,
        attach,
        permits,
        timeoutMs: delegate.timeoutMs ?? timeoutMs,
      });
    },
  });
}

/** The same for a question that is repeated: case, spacing and the mark at its end make no difference. */
export function questionKey(query: string): string {
  const words = query.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim();
  return words.replace(/(?<![ .?!…])[ .?!…]+$/u, '');
}

function inputFor(names: string[]) {
  const [first, ...others] = names;
  if (first === undefined) throw new TypeError('delegate_to needs at least one delegate');
  return z.object({
    target: z.enum([first, ...others]).describe('Who is to do it.'),
    query: z.string().describe('The whole task in words; the target knows nothing of this conversation.'),
  });
}

function line({ name, description }: Delegate): string {
  return `- ${name}: ${description}`;
}

interface Asking extends DelegateContext {
  timeoutMs: number;
}

async function ask(
  delegate: Delegate,
  query: string,
  { signal, timeoutMs, ...context }: Asking,
): Promise<string> {
  const deadline = new Deadline({ signal, timeoutMs });
  const onActivity = (silentMs: number) => {
    deadline.extend(silentMs);
    context.onActivity?.(silentMs);
  };
  try {
    const answer = await delegate.ask(query, { ...context, signal: deadline.signal, onActivity });
    return answer.trim() === '' ? `Error: ${delegate.name} gave an empty answer.` : answer;
  } catch (error) {
    if (signal.aborted) throw error;
    if (deadline.isExpired)
      return `Error: ${delegate.name} did not answer within ${timeoutMs / 1000} seconds.`;
    if (error instanceof DelegateError) return failure(error);
    throw error;
  } finally {
    deadline.clear();
  }
}

/** Someone else who can do a part of the work: another agent, or an endpoint. */
export interface Delegate {
  /** Short and speakable; what the model chooses by. */
  name: string;
  /** One line: what it is good for. */
  description: string;
  /** What of the description it wrote itself. */
  describedIn?: ForeignDescription | undefined;
  /** How long it may be silent; that of the tool when left out. */
  timeoutMs?: number | undefined;
  /** One of our own: it is told what the asking turn has read, and decides for itself. */
  internal?: boolean;
  /** Says itself where its answers came from; the answers of all others come from outside. */
  reportsOrigins?: boolean;
  /** Asked once more under the same `idempotencyKey`, it goes on with the same work. */
  idempotent?: boolean;
  /** Whether the next query of a conversation answers a question: whose, nobody knows after a crash. */
  answers?(sessionId: string): boolean;
  /** The answer to a query; a `DelegateError` when there is none. */
  ask(query: string, context: DelegateContext): Promise<string>;
}

export interface DelegateContext {
  signal: AbortSignal;
  /** The conversation that the query belongs to. */
  sessionId: string;
  /** On whose behalf the query is asked. */
  principal?: Principal | undefined;
  timezone?: ToolContext['timezone'];
  addOrigins?: ToolContext['addOrigins'];
  approved?: ToolContext['approved'];
  idempotencyKey?: ToolContext['idempotencyKey'];
  /** To be called while the delegate shows that it works; one that never does has its time limit in all. */
  onActivity?: ToolContext['onActivity'];
  /** Takes the files of the answer; left out where files are not stored. */
  attach?: ToolContext['attach'];
  /** Whether policy lets the call reach an address that the answer names. */
  permits?: ToolContext['permits'];
}

export type DelegateErrorCode =
  | 'delegate_failed'
  | 'delegate_refused'
  | 'delegate_silent'
  | 'delegate_unreachable';

/** Why a delegate gave no answer, in words that can be spoken: no addresses, no codes. */
export class DelegateError extends CodedError<DelegateErrorCode> {
  override readonly name = 'DelegateError';
}
