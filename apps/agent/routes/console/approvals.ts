import type { TaskEngine } from '@trunkline/a2a';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { mayApprove, viewOf } from '../../approvals/approvals.ts';
import type { CheckpointStore, WaitingApproval } from '../../turns/checkpoint-store.ts';
import { fromEngine } from '../engine-failure.ts';
import { consoleErrors } from './errors.ts';

export interface ApprovalRoutes {
  engine: TaskEngine;
  checkpoints: CheckpointStore;
  operator: OperatorAccess;
}

const answer = z.object({
  approve: z.boolean(),
  /** The reason of a denial; passed on to the agent. */
  note: z.string().trim().max(2000).optional(),
});

/** What waits for the operator's approval. */
export function mountApprovals(app: Hono<AppEnv>, routes: ApprovalRoutes): void {
  const { engine, operator } = routes;
  const guard = requireApprover(operator);
  app.get(
    '/api/approvals',
    describeRoute({ summary: 'What waits for an approval, exactly as it would run' }),
    guard,
    (context) => context.json({ approvals: waiting(routes).map(described(engine)) }),
  );
  app.post(
    '/api/approvals/:id',
    describeRoute({
      summary: 'Approve or deny what waits',
      description: 'For the operator in person, or an approver whom the operator paired. An id counts once.',
    }),
    guard,
    validate('json', answer),
    async (context) => {
      const id = context.req.param('id');
      const found = waiting(routes).find(({ approval }) => approval.id === id);
      if (found === undefined) throw consoleErrors.approval_gone({ id });
      const { approve, note } = context.req.valid('json');
      const text = approve ? 'yes' : ['no', note].filter(Boolean).join(': ');
      await fromEngine(() => engine.start(answerTo(found.taskId, text, context.get('principal'))));
      return context.json({ ok: true, id, approved: approve, task_id: found.taskId });
    },
  );
}

function requireApprover(operator: OperatorAccess): MiddlewareHandler {
  return async (context: Context<AppEnv>, next) => {
    if (mayApprove(context.get('principal'), operator)) return next();
    throw consoleErrors.approver_required({ keyFile: operator.keyFile });
  };
}

/** A task that was stopped, or whose turn was cut off by a restart, waits for nothing any more. */
function waiting({ engine, checkpoints }: ApprovalRoutes): WaitingApproval[] {
  return checkpoints.approvals().filter(({ taskId }) => engine.peek(taskId)?.state === 'input-required');
}

function described(engine: TaskEngine) {
  return ({ taskId, approval, principal, savedAt }: WaitingApproval) => ({
    ...viewOf(approval),
    task_id: taskId,
    context_id: engine.peek(taskId)?.contextId ?? null,
    asked_by: nameOf(principal),
    asked_at: new Date(savedAt).toISOString(),
  });
}

function nameOf({ kind, id, via }: Principal): string {
  const who = kind === id ? kind : `${kind} ${id}`;
  return via.length === 0 ? who : `${who}, by way of ${via.join(', ')}`;
}

function answerTo(taskId: string, text: string, principal: Principal) {
  const parts = [{ type: 'text' as const, text }];
  const message = { messageId: crypto.randomUUID(), role: 'user' as const, parts, taskId };
  return { message, metadata: {}, principal, strict: true };
}
