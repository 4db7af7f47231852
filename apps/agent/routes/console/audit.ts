import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AuditLog } from '../../stores/audit-log.ts';
import { loaded } from './errors.ts';

const query = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  tool: z.string().min(1).optional(),
  session: z.string().min(1).optional(),
  success: z.stringbool().optional(),
  q: z.string().min(1).optional(),
  before: z
    .string()
    .regex(/^[01]\.\d{1,15}$/)
    .optional(),
});

/** The audit log: what the tools were called with, by whom, and their results. */
export function mountAudit(app: Hono<AppEnv>, { audit }: { audit: AuditLog | undefined }): void {
  app.get(
    '/api/audit',
    describeRoute({ summary: 'Calls of tools, the newest first' }),
    validate('query', query),
    async (context) => {
      const { limit, before, q, ...filter } = context.req.valid('query');
      return context.json(await loaded(audit, 'The audit log').read({ ...filter, search: q }, limit, before));
    },
  );
}
