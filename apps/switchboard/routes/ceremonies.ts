import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { CeremonyService } from '../ceremonies/ceremony-service.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  ceremony_unknown: [404, ({ id }: { id: string }) => `There is no ceremony ${id}; see GET /api/ceremonies.`],
});

const limitQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(50) });

/** The ceremonies of the workspace, their runs, and a way to begin one. */
export function mountCeremonies(app: Hono<SwitchboardEnv>, ceremonies: CeremonyService): void {
  const { ceremony_unknown } = errors;
  app.get(
    '/api/ceremonies',
    describeRoute({ summary: 'All ceremonies with their next and last run' }),
    (context) => context.json({ success: true, data: ceremonies.list() }),
  );
  const one = describeRoute({
    summary: 'A ceremony (null while its file is not read, or cannot be used) and its runs, the newest first',
    errors: [ceremony_unknown],
  });
  app.get('/api/ceremonies/:id', one, validate('query', limitQuery), async (context) => {
    const id = context.req.param('id');
    const ceremony = ceremonies.list().find((known) => known.id === id) ?? null;
    if (ceremony === null && !(await ceremonies.isWritten(id))) throw ceremony_unknown({ id });
    const runs = ceremonies.runs(id, context.req.valid('query').limit);
    return context.json({ success: true, data: { ceremony, runs } });
  });
  const run = describeRoute({ summary: 'Begins a run at once', status: 202, errors: [ceremony_unknown] });
  app.post('/api/ceremonies/:id/run', run, async (context) => {
    const id = context.req.param('id');
    const begun = await ceremonies.run(id, context.get('caller').name, context.get('principal'));
    if (begun === undefined) throw ceremony_unknown({ id });
    return context.json({ success: true, data: begun }, 202);
  });
}
