import type { OperatorAccess, Principal } from '@trunkline/identity';
import { readVerdict } from '@trunkline/tools';
import { isSameAsker } from './approvals/answer-gate.ts';
import { mayApprove } from './approvals/approvals.ts';
import type { LiveConfig } from './setup/config-file.ts';
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
    return mayApprove(principal, access) || readVerdict(text) !== 'unclear';
  };
}
