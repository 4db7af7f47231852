import {
  actsForItself,
  handedOn,
  isDirectOperator,
  type OperatorAccess,
  type Principal,
  roleOf,
} from '@trunkline/identity';
import type { ToolContext } from '@trunkline/llm';
import { type AskReason, CheckpointError, type PauseEvent, parseCheckpoint } from '@trunkline/loop';
import type { ApprovalView } from '@trunkline/std';
import {
  type ApprovalSubject,
  type ApprovedContext,
  type ApprovedResult,
  type ApprovedTool,
  approvalText,
  approvalView,
  HOW_TO_ANSWER,
  runApproved,
} from '@trunkline/tools';

/** A call that waits for an answer. */
export interface WaitingCall {
  toolCallId: string;
  name: string;
  input: unknown;
  /** Set where policy asks for it. */
  ask?: AskReason;
  /** Set where the running tool asks. */
  question?: unknown;
}

/** A request that waits for the operator. Its id is good for one answer. */
export interface PendingApproval {
  id: string;
  subject: ApprovalSubject;
}

/** The tools that do their work only after it was approved. */
export interface Approvals {
  /** What the call asks for, as the disk stands now; undefined when it needs no approval. */
  subject(call: WaitingCall): Promise<ApprovalSubject | undefined>;
  /** Does what was approved, unless it has changed since. */
  run(call: WaitingCall, subject: ApprovalSubject, context: ToolContext): Promise<ApprovedResult>;
}

/** What a person reads before a call that policy asks about. */
export function policySubject({ name, input, ask }: WaitingCall & { ask: AskReason }): ApprovalSubject {
  const text = JSON.stringify(input, null, 2) ?? '';
  const { why: reason, rule } = ask;
  return { title: `May I use ${name}?`, noun: 'call', text, directory: '', reason, rule, files: [] };
}

export function approvalsOf(tools: readonly ApprovedTool[]): Approvals {
  const find = ({ name }: WaitingCall) => tools.find(({ tool }) => tool.name === name);
  return {
    subject: async (call) => await find(call)?.subject(call.input),
    async run(call, subject, context) {
      const tool = find(call);
      if (tool === undefined) return { result: `Error: ${call.name} is no longer offered and was not run.` };
      const approved: ApprovedContext = { ...context, subject };
      return await runApproved(tool, call.input, approved);
    },
  };
}

/**
 * Whether an answer of theirs approves: the operator in person, or a chat identity that the operator paired. What
 * another service hands on counts only when it is such a person's own word, straight from the chat surface.
 */
export function mayApprove(principal: Principal, { isOpen }: Pick<OperatorAccess, 'isOpen'>): boolean {
  const { kind, via } = principal;
  // An approver whose account is disabled comes as a guest.
  const isGuest = roleOf(principal) === 'guest';
  if (kind === 'approver') return via.length <= 1 && !isGuest;
  if (isOpen) return via.length === 0 && !actsForItself(principal) && !isGuest;
  return isDirectOperator({ kind, id: '', via });
}

/** The principal for work that is done for them: an approver's own answers count, those of a model for them do not. */
export function actingFor(principal: Principal, by?: string): Principal {
  const person: Principal = principal.kind === 'approver' ? { ...principal, kind: 'person' } : principal;
  return by === undefined ? person : handedOn(person, by);
}

export function viewOf({ id, subject }: PendingApproval, note = ''): ApprovalView {
  return { ...approvalView(id, subject), ...(note !== '' && { note }) };
}

/** The question of a task that waits for an approval. */
export function approvalQuestion(
  { id, subject }: PendingApproval,
  consoleUrl: string | undefined,
  note = '',
): string {
  const page = consoleUrl === undefined ? '' : ` in the console at ${consoleUrl}, or`;
  const where = `Only the operator can approve it:${page} with "npx trunkline approvals approve ${id}".`;
  // Policy can take an answer for more than once; a command is approved once.
  const how = subject.noun === 'call' ? HOW_TO_ANSWER : '';
  return [note, approvalText(subject), how, where].filter((words) => words !== '').join('\n');
}

/** Rules are the operator's: anybody else's "always" counts for the task. Without a key everybody is the operator. */
export function mayAllowAlways({ kind }: Principal): boolean {
  return kind === 'operator' || kind === 'anonymous';
}

export const mayBeDone =
  'Asked again: the service ended after you had answered, and nobody knows whether it was done. Look first.';

/** The question of a stored turn once more; the note says why. */
export function askedAgain(
  call: WaitingCall,
  stored: unknown,
  note?: string,
): PauseEvent & { note?: string } {
  const checkpoint = parseCheckpoint(stored);
  const { usage } = checkpoint;
  const asked = { ...call, question: '', text: '' };
  const pause = { type: 'pause', ...asked, checkpoint, usage } as const;
  return note === undefined ? pause : { ...pause, note };
}

/** The call that an answer goes to; undefined also for a damaged checkpoint, which the loop explains in its own words. */
export function askedBy(checkpoint: unknown): WaitingCall | undefined {
  try {
    return waitingCall(checkpoint);
  } catch (error) {
    if (error instanceof CheckpointError) return undefined;
    throw error;
  }
}

/** The call of a stored turn that an answer goes to. */
function waitingCall(checkpoint: unknown): WaitingCall | undefined {
  return parseCheckpoint(checkpoint).calls.find(({ result }) => result === undefined);
}
