import type { ExecutionEvent, ExecutionRequest } from '@trunkline/a2a';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import { readScope, readVerdict } from '@trunkline/tools';
import { approvalQuestion, mayApprove, type PendingApproval, viewOf } from './approvals/approvals.ts';
import type { LiveConfig } from './setup/config-file.ts';
import type { ParkedTurn } from './turns/checkpoint-store.ts';
import type { MayAnswer } from './turns/converse.ts';
import { conversationOwner, memoryScope, operatorScope, type ScopeRequest } from './turns/memory-scope.ts';
import type { TurnState } from './turns/turn-state.ts';

/** What decides about callers, as the configuration stands now. */
interface CallerRules {
  live: LiveConfig;
  operator: OperatorAccess;
}

/** Somebody who writes on the chat platform; the operator may have paired them to approve. */
export function chatPerson({ live }: Pick<CallerRules, 'live'>, author: string): Principal {
  const id = `chat:${author}`;
  const isApprover = live.config.approvals.approvers.includes(id);
  return { kind: isApprover ? 'approver' : 'person', id, via: [] };
}

/** Whose memories a turn reads and writes. */
export function scopesOf({ live, operator }: CallerRules): (request: ScopeRequest) => string {
  return (request) => memoryScope(request, { isShared: live.config.memory.shared, isOpen: operator.isOpen });
}

/** Whose conversations somebody's are. */
export function ownersOf({ live, operator }: CallerRules): (request: ScopeRequest) => string {
  return (request) =>
    conversationOwner(request, { isShared: live.config.memory.shared, isOpen: operator.isOpen });
}

/** Whether somebody may read, continue and delete a conversation: their own, and the operator all. */
export type MayJoin = (sessionId: string, principal: Principal) => boolean;

export function canJoin(base: CallerRules, { sessions }: Pick<TurnState, 'sessions'>): MayJoin {
  const ownerOf = ownersOf(base);
  return (sessionId, principal) => {
    const own = ownerOf({ principal, sessionId });
    return own === operatorScope || (sessions.owner(sessionId) ?? own) === own;
  };
}

/** Whether a caller's next message in a conversation answers the question of one of its waiting tasks. */
export function canAnswer(base: CallerRules, { checkpoints }: Pick<TurnState, 'checkpoints'>): MayAnswer {
  const { operator: access } = base;
  const ownerOf = ownersOf(base);
  return (taskId, { principal, contextId, text }) => {
    const parked = checkpoints.load(taskId);
    if (parked === undefined) return true;
    if (parked.approval === undefined) return isSameAsker(parked, principal, contextId, { access, ownerOf });
    return mayApprove(principal, access) || readVerdict(readScope(text).answer) !== 'unclear';
  };
}

type Question = NonNullable<ExecutionRequest['resume']>;

/** Looks at an answer to a question that waits: undefined lets it through, an event asks again. */
export type AnswerGate = (
  parked: ParkedTurn,
  question: Question,
  answer: ExecutionRequest,
) => ExecutionEvent | undefined;

interface AnswerGateOptions {
  access: Pick<OperatorAccess, 'isOpen'>;
  /** Whose conversation a turn goes on with. */
  ownerOf(request: ScopeRequest): string;
  /** Where the console shows what waits; undefined where no page is served. */
  consoleUrl(): string | undefined;
}

/** A question waits for whoever asked for the work, or the operator; an approval for the operator. */
export function createAnswerGate(options: AnswerGateOptions): AnswerGate {
  return (parked, question, answer) =>
    parked.approval === undefined
      ? askedOthers(parked, question, answer, options)
      : askedForApproval(parked.approval, answer, options);
}

/** Whether somebody may answer what was asked in the work of another. */
function isSameAsker(
  parked: Pick<ParkedTurn, 'principal' | 'user'>,
  principal: Principal,
  sessionId: string,
  { access, ownerOf }: Pick<AnswerGateOptions, 'access' | 'ownerOf'>,
): boolean {
  const [asker, answerer] = [parked.principal, principal].map((each) =>
    ownerOf({ principal: each, sessionId, user: parked.user }),
  );
  return asker === answerer || mayApprove(principal, access);
}

function askedOthers(
  parked: ParkedTurn,
  { text, schema }: Question,
  { principal, task }: ExecutionRequest,
  options: AnswerGateOptions,
): ExecutionEvent | undefined {
  if (isSameAsker(parked, principal, task.contextId, options)) return undefined;
  const note = 'This still waits: it was asked of somebody else, or of the operator.';
  const question = text.startsWith(note) ? text : `${note}\n${text}`;
  return { type: 'input-required', question, ...(schema !== undefined && { schema }) };
}

function askedForApproval(
  approval: PendingApproval,
  { principal, text }: ExecutionRequest,
  { access, consoleUrl }: AnswerGateOptions,
): ExecutionEvent | undefined {
  const note = objection(principal, text, access);
  if (note === undefined) return undefined;
  const question = approvalQuestion(approval, consoleUrl(), note);
  return { type: 'input-required', question, schema: { approval: viewOf(approval, note) } };
}

function objection(
  principal: Principal,
  text: string,
  access: AnswerGateOptions['access'],
): string | undefined {
  if (!mayApprove(principal, access))
    return 'This still waits: it needs the approval of the operator, and your answer is not one.';
  if (readVerdict(readScope(text).answer) === 'unclear')
    return 'That was neither a yes nor a no. Answer yes or no.';
  return undefined;
}
