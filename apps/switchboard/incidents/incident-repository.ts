import { join } from 'node:path';
import type { Bus } from '@trunkline/bus';
import { parseYaml } from '@trunkline/config';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { Mutex } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ChangeNote, ControlPlane } from '../control/control-plane.ts';
import { withoutUndefined } from '../dispatch/request.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { kinds } from '../workspace/kinds.ts';
import { type Incident, severities } from '../workspace/schema/channels.ts';
import type { Workspace } from '../workspace/workspace.ts';

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

export type NewIncident = Pick<Incident, 'title' | 'severity'> &
  Partial<Pick<Incident, 'description' | 'affectedProjects' | 'assignee'>>;

export function createIncidentRepository(workspace: Workspace, controlPlane: ControlPlane, bus: Bus) {
  /** The last write, until the workspace has read it. */
  let written: readonly Incident[] | undefined;
  /** One change at a time: each is made from the list as the last one left it. */
  const changes = new Mutex();
  workspace.onChange((file) => {
    const own = controlPlane.fileOf('incidents', 'incidents');
    if (file === join(workspace.directory, own)) written = undefined;
  });

  function list(): readonly Incident[] {
    return written ?? workspace.incidents();
  }

  /** As the file says now, before the workspace has read it. A file that cannot be read is kept aside: a write replaces it. */
  async function current(): Promise<readonly Incident[]> {
    const text = await controlPlane.read('incidents', 'incidents');
    if (text === null) return [];
    const refusal = controlPlane.refusalOf('incidents', 'incidents', text);
    const file = controlPlane.fileOf('incidents', 'incidents');
    if (refusal === undefined)
      return parseYaml(text, kinds.incidents.schema, { file, expand: false }).incidents;
    if (refusal.code !== 'record_refused') throw refusal;
    const aside = `${file}.broken-${new Date().toISOString().replaceAll(':', '-')}`;
    await writeFileAtomic(join(workspace.directory, aside), text);
    const error = `${refusal.message} It is kept as ${aside}, and ${file} goes on from what was last read.`;
    await bus.publish({
      topic: 'system.error',
      payload: { source: 'workspace', plugin: 'incidents', error, file },
    });
    return list();
  }

  /** Adds an incident under the next number and publishes it. */
  function report(given: NewIncident, actor: string, principal: Principal): Promise<Incident> {
    return changes.run(async () => {
      const known = await current();
      const number = 1 + Math.max(0, ...known.map(({ id }) => Number(id.slice('INC-'.length))));
      const id = `INC-${String(number).padStart(3, '0')}`;
      const { origins } = principal;
      const incident: Incident = {
        id,
        ...given,
        status: 'open',
        reportedAt: new Date().toISOString(),
        ...(origins && { origins: [...origins] }),
      };
      await write([...known, incident], { actor, reason: `${id} was reported` });
      await bus.publish({
        topic: 'security.incident.reported',
        payload: JSON.parse(JSON.stringify(incident)),
        principal,
      });
      return incident;
    });
  }

  /** Undefined when there is no such incident. */
  function resolve(id: string, note: string | undefined, actor: string): Promise<Incident | undefined> {
    return changes.run(async () => {
      const known = await current();
      const found = known.find((incident) => incident.id === id);
      if (found === undefined || found.status === 'resolved') return found;
      const resolvedAt = new Date().toISOString();
      const resolved: Incident = {
        ...found,
        status: 'resolved',
        resolvedAt,
        ...(note && { resolutionNote: note }),
      };
      const all = known.map((incident) => (incident.id === id ? resolved : incident));
      await write(all, { actor, reason: `${id} was resolved` });
      return resolved;
    });
  }

  async function write(incidents: readonly Incident[], note: ChangeNote): Promise<void> {
    await controlPlane.write('incidents', 'incidents', { incidents }, note);
    written = incidents;
  }

  return { list, report, resolve };
}

export type IncidentRepository = ReturnType<typeof createIncidentRepository>;

export function mountIncidents(app: Hono<SwitchboardEnv>, incidents: IncidentRepository): void {
  app.get('/api/incidents', describeRoute({ summary: 'All incidents' }), (context) =>
    context.json({ success: true, data: incidents.list() }),
  );
  const report = describeRoute({ summary: 'Reports an incident', status: 201 });
  app.post('/api/incidents', report, validate('json', newIncident), async (context) => {
    const given = withoutUndefined(context.req.valid('json'));
    const { caller, principal } = context.var;
    const incident = await incidents.report(given, caller.name, principal);
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
