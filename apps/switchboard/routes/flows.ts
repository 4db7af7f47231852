import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { FlowStore } from '../flows/flow-store.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  flow_unknown: [404, ({ id }: { id: string }) => `There is no flow ${id}; flows are kept for 7 days.`],
});

const query = z.object({
  since: z
    .union([z.coerce.number(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
    .optional(),
  status: z.enum(['active', 'blocked', 'complete']).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

/** What was dispatched lately, and how each of it went. */
export function mountFlows(app: Hono<SwitchboardEnv>, store: FlowStore): void {
  app.get(
    '/api/flows',
    describeRoute({ summary: 'Flows, the newest first' }),
    validate('query', query),
    (context) => {
      const flows = store.list(context.req.valid('query'));
      return context.json({
        success: true,
        count: flows.length,
        flows,
        data: { count: flows.length, flows },
      });
    },
  );
  const one = describeRoute({ summary: 'A flow with its trace', errors: [errors.flow_unknown] });
  app.get('/api/flows/:id', one, (context) => {
    const id = context.req.param('id');
    const flow = store.get(id);
    if (flow === undefined) throw errors.flow_unknown({ id });
    return context.json({ success: true, data: { ...flow, trace: store.traceOf(id) } });
  });
}
