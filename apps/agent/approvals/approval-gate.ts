import type { ExecutionEvent } from '@trunkline/a2a';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import { readVerdict } from '@trunkline/tools';
import { approvalQuestion, mayApprove, type PendingApproval, viewOf } from './approvals.ts';

/** Looks at an answer to a request for approval: undefined lets it through, an event asks again. */
export type ApprovalGate = (
  approval: PendingApproval,
  answer: { principal: Principal; text: string },
) => ExecutionEvent | undefined;

export interface ApprovalGateOptions {
  access: Pick<OperatorAccess, 'isOpen'>;
  /** Where the console shows what waits; undefined where no page is served. */
  consoleUrl(): string | undefined;
}

export function createApprovalGate({ access, consoleUrl }: ApprovalGateOptions): ApprovalGate {
  return (approval, { principal, text }) => {
    const note = objection(principal, text, access);
    if (note === undefined) return undefined;
    const question = approvalQuestion(approval, consoleUrl(), note);
    return { type: 'input-required', question, schema: { approval: viewOf(approval, note) } };
  };
}

function objection(
  principal: Principal,
  text: string,
  access: ApprovalGateOptions['access'],
): string | undefined {
  if (!mayApprove(principal, access))
    return 'This still waits: it needs the approval of the operator, and your answer is not one.';
  if (readVerdict(text) === 'unclear') return 'That was neither a yes nor a no. Answer yes or no.';
  return undefined;
}
