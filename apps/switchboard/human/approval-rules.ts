import { isDirectOperator, type OperatorAccess, type Principal } from '@trunkline/identity';

export interface ApprovalRules {
  /** Whether an answer of theirs approves. */
  mayApprove(principal: Principal): boolean;
  /** Whether it is a person on a surface whom the operator paired, in person. */
  isApprover(principal: Principal): boolean;
  /** Where it can be approved, in words for those who may not. */
  where(): string;
}

export interface ApprovalSettings {
  access: Pick<OperatorAccess, 'isOpen'>;
  /** Of `approvers.yaml`. */
  approvers: () => readonly string[];
  url: () => string;
}

/**
 * Only the operator approves what an agent wants to run, or a person on a surface whom the operator paired. Nobody else
 * does: not a peer, a model or a schedule, and not what one of these hands on for somebody who might.
 */
export function createApprovalRules({ access, approvers, url }: ApprovalSettings): ApprovalRules {
  const isApprover = ({ kind, id, via }: Principal) =>
    kind === 'person' && via.length === 0 && approvers().includes(id);
  return {
    isApprover,
    mayApprove(principal) {
      if (isDirectOperator(principal) || isApprover(principal)) return true;
      return access.isOpen && principal.via.length === 0 && principal.kind !== 'service';
    },
    where: () =>
      `Only the operator can approve it, at ${url()}/app/questions, or an approver of approvers.yaml where it was asked.`,
  };
}
