import { type AppEnv, describeRoute, requireOperator, streamText, validate } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AuditLog } from './audit-log.ts';

const text = z.string().min(1).max(200).optional();
const query = z.object({
  before: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  service: text,
  principal: text,
  action: text,
  decision: z.enum(['allow', 'ask', 'deny']).optional(),
  q: text,
});

/** The audit log of the whole installation, for its operator; every service serves the same one. */
export function mountAuditLog<Caller>(
  app: Hono<AppEnv<Caller>>,
  log: AuditLog,
  operator: OperatorAccess,
): void {
  app.use('/operator/audit', requireOperator(operator));
  app.use('/operator/audit/*', requireOperator(operator));
  app.get(
    '/operator/audit',
    describeRoute({ summary: 'The audit log of all services, the newest entry first' }),
    validate('query', query),
    (context) => {
      const { q, ...filter } = context.req.valid('query');
      const entries = log.list({ ...filter, search: q });
      const next = entries.length === filter.limit ? (entries.at(-1)?.sequence ?? null) : null;
      return context.json({ entries, next });
    },
  );
  app.get(
    '/operator/audit/verify',
    describeRoute({ summary: 'Recompute the hash chain of the audit log' }),
    async (context) => context.json(await log.verify()),
  );
  app.get(
    '/operator/audit/export',
    describeRoute({ summary: 'The whole audit log as JSON lines', mediaType: 'application/x-ndjson' }),
    (context) =>
      streamText(context, {
        chunks: () => lines(log),
        contentType: 'application/x-ndjson',
        headers: { 'content-disposition': 'attachment; filename="trunkline-audit.jsonl"' },
      }),
  );
}

async function* lines(log: AuditLog): AsyncGenerator<string> {
  for await (const page of log.pages()) yield page.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
