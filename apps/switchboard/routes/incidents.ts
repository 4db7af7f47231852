import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { IncidentRepository, NewIncident } from '../incidents/incident-repository.ts';
import { severities } from '../workspace/schema/incidents.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  incident_unknown: [404, ({ id }: { id: string }) => `There is no incident ${id}.`],
});

const newIncident = z.strictObject({
  title: z.string().min(1).max(500),
  severity: z.enum(severities),
  description: z.string().max(20_000).optional(),
  affectedProjects: z.array(z.string()).optional(),
  assignee: z.string().optional(),
});

const resolution = z.object({ resolutionNote: z.string().max(20_000).optional() }).default({});

/** The incidents of `incidents.yaml`. */
export function mountIncidents(app: Hono<SwitchboardEnv>, incidents: IncidentRepository): void {
  app.get('/api/incidents', describeRoute({ summary: 'All incidents' }), (context) =>
    context.json({ success: true, data: incidents.list() }),
  );
  const report = describeRoute({ summary: 'Reports an incident', status: 201 });
  app.post('/api/incidents', report, validate('json', newIncident), async (context) => {
    const given = context.req.valid('json');
    const known = Object.entries(given).filter(([, value]) => value !== undefined);
    const incident = await incidents.report(
      Object.fromEntries(known) as NewIncident,
      context.get('caller').name,
      context.get('principal'),
    );
    return context.json({ success: true, data: incident }, 201);
  });
  const resolve = describeRoute({ summary: 'Resolves an incident', errors: [errors.incident_unknown] });
  app.post('/api/incidents/:id/resolve', resolve, validate('json', resolution), async (context) => {
    const id = context.req.param('id');
    const { resolutionNote } = context.req.valid('json');
    const incident = await incidents.resolve(id, resolutionNote, context.get('caller').name);
    if (incident === undefined) throw errors.incident_unknown({ id });
    return context.json({ success: true, data: incident });
  });
}
