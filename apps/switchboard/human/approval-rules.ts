import {
  actsForItself,
  isDirectOperator,
  type OperatorAccess,
  type Principal,
  roleOf,
} from '@trunkline/identity';

export interface ApprovalRules {
  mayApprove(principal: Principal): boolean;
  /** A person of `approvers.yaml`, in person. */
  isApprover(principal: Principal): boolean;
  where(): string;
}

interface ApprovalSettings {
  access: Pick<OperatorAccess, 'isOpen'>;
  approvers: () => readonly string[];
  /** A person's names on the surfaces, as `approvers.yaml` has them. */
  namesOf: (principal: Principal) => readonly string[];
  url: () => string;
}

/**
 * Only the operator and paired persons on surfaces approve what an agent wants to run: no peer, model or schedule, nor
 * what these hand on for somebody who may.
 */
export function createApprovalRules({ access, approvers, namesOf, url }: ApprovalSettings): ApprovalRules {
  const isApprover = (principal: Principal) =>
    principal.kind === 'person' &&
    // Somebody whose account is disabled comes as a guest.
    roleOf(principal) !== 'guest' &&
    principal.via.length === 0 &&
    namesOf(principal).some((name) => approvers().includes(name));
  return {
    isApprover,
    mayApprove(principal) {
      if (isDirectOperator(principal) || isApprover(principal)) return true;
      const isSomebody = !actsForItself(principal) && roleOf(principal) !== 'guest';
      return access.isOpen && principal.via.length === 0 && isSomebody;
    },
    where: () =>
      `Only the operator can approve it, at ${url()}/app/questions, or an approver of approvers.yaml where it was asked.`,
  };
}
