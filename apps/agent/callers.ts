import type { Principal } from '@trunkline/identity';
import { readVerdict } from '@trunkline/tools';
import type { Base } from './agent.ts';
import { mayApprove } from './approvals/approvals.ts';
import type { MayAnswer } from './turns/converse.ts';
import { memoryScope, operatorScope, type ScopeRequest } from './turns/memory-scope.ts';
import type { TurnState } from './turns/turn-state.ts';

/** Somebody who writes on the chat platform; the operator may have paired them to approve. */
export function chatPerson({ live }: Pick<Base, 'live'>, author: string): Principal {
  const id = `chat:${author}`;
  const isApprover = live.config.approvals.approvers.includes(id);
  return { kind: isApprover ? 'approver' : 'person', id, via: [] };
}

/** Whose memories a turn reads and writes. */
export function scopesOf({
  live,
  operator,
}: Pick<Base, 'live' | 'operator'>): (request: ScopeRequest) => string {
  return (request) => memoryScope(request, { isShared: live.config.memory.shared, isOpen: operator.isOpen });
}

/** Whether somebody may read, continue and delete a conversation: nobody else those of the operator. */
export type MayJoin = (sessionId: string, principal: Principal) => boolean;

export function canJoin(
  { live, operator }: Pick<Base, 'live' | 'operator'>,
  { sessions }: Pick<TurnState, 'sessions'>,
): MayJoin {
  return (sessionId, { kind }) =>
    kind === 'operator' ||
    operator.isOpen ||
    live.config.memory.shared ||
    sessions.scope(sessionId) !== operatorScope;
}

/** Whether somebody's next words in a conversation are taken as the answer that one of its tasks waits for. */
export function canAnswer(
  { operator }: Pick<Base, 'operator'>,
  { checkpoints }: Pick<TurnState, 'checkpoints'>,
): MayAnswer {
  return (taskId, principal, text) => {
    const isApproval = checkpoints.load(taskId)?.approval !== undefined;
    return !isApproval || mayApprove(principal, operator) || readVerdict(text) !== 'unclear';
  };
}
