import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Bus, Draft } from '@trunkline/bus';
import { defineErrors, describeRoute, HttpError, validate } from '@trunkline/http';
import { ownerKey, type Principal } from '@trunkline/identity';
import { Mutex } from '@trunkline/std';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type ChangeNote, type ControlPlane, ControlPlaneError } from '../control/control-plane.ts';
import { withoutUndefined } from '../dispatch/request.ts';
import { throwBusFailure } from '../errors.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { type Incident, severities } from '../workspace/schema/channels.ts';
import type { Workspace } from '../workspace/workspace.ts';
import {
  fullWords,
  incidentsText,
  numberOf,
  readIncidents,
  withIncident,
  withoutOldest,
} from './incident-file.ts';

const errors = defineErrors({
  incident_unknown: [404, ({ id }: { id: string }) => `There is no incident ${id}.`],
  incidents_unusable: [409, ({ words }: { words: string }) => words],
  incidents_full: [429, ({ words }: { words: string }) => words],
});

const newIncident = z.strictObject({
  title: z.string().min(1).max(500),
  severity: z.enum(severities),
  description: z.string().max(20_000).optional(),
  affectedProjects: z.array(z.string().max(200)).max(100).optional(),
  assignee: z.string().max(200).optional(),
});

const resolution = z.object({ resolutionNote: z.string().max(20_000).optional() }).default({});

export type NewIncident = Pick<Incident, 'title' | 'severity'> &
  Partial<Pick<Incident, 'description' | 'affectedProjects' | 'assignee'>>;

interface IncidentDeps {
  workspace: Workspace;
  controlPlane: ControlPlane;
  bus: Bus;
  /** Resolves when the workspace has the changes of other switchboards. */
  catchUp: () => Promise<void>;
}

/** How long a number stays given while the switchboard that has it cannot tell the others. */
const claimedMs = 7 * 24 * 60 * 60 * 1000;

export function createIncidentRepository({ workspace, controlPlane, bus, catchUp }: IncidentDeps) {
  /** What the file says, until the workspace has read it. */
  let written: readonly Incident[] | undefined;
  /** One change at a time: each is made from the list as the last one left it. */
  const changes = new Mutex();
  workspace.onChange((file) => {
    const own = controlPlane.fileOf('incidents', 'incidents');
    if (file === join(workspace.directory, own) && written !== undefined) void settle(written);
  });

  /** What the workspace has just read may be older than the last write. */
  async function settle(before: readonly Incident[]): Promise<void> {
    // What cannot be read counts as the workspace last read it.
    const now = await current().catch(() => undefined);
    if (written !== before) return;
    written = isDeepStrictEqual(now, workspace.incidents()) ? undefined : now;
  }

  function list(): readonly Incident[] {
    return written ?? workspace.incidents();
  }

  /** Of a file that cannot be read: as it was last read. */
  function incidentsIn(text: string | null): readonly Incident[] {
    if (text === null) return [];
    const refusal = controlPlane.refusalOf('incidents', 'incidents', text);
    if (refusal === undefined) return readIncidents(text);
    if (refusal.code !== 'record_refused') throw refusal;
    return list();
  }

  /** As the file says now, before the workspace has read it. */
  async function current(): Promise<readonly Incident[]> {
    return incidentsIn(await controlPlane.read('incidents', 'incidents'));
  }

  /** The next id that no switchboard on the bus has given. */
  async function claimId(known: readonly Incident[]): Promise<string> {
    for (let number = 1 + Math.max(0, ...known.map(numberOf)); ; number += 1) {
      const id = `INC-${String(number).padStart(3, '0')}`;
      if (bus.status().engine === 'embedded') return id;
      const claim = randomUUID();
      const claims = await bus.memory('incidents', { ttlMs: claimedMs });
      if ((await claims.keep(id, claim)) === claim) return id;
    }
  }

  /** Adds an incident under the next number and publishes it. */
  async function report(given: NewIncident, actor: string, principal: Principal): Promise<Incident> {
    await catchUp();
    return await changes.run(async () => {
      const { origins } = principal;
      const owner = ownerOf(principal);
      const requireRoom = (known: readonly Incident[]) => {
        const words = fullWords(known, { ...given, reportedBy: owner });
        if (words !== undefined) throw errors.incidents_full({ words });
      };
      // First as last read or written: whoever is refused again and again must not have the file read each time.
      requireRoom(list());
      const known = await current();
      requireRoom(known);
      const id = await claimId(known);
      const incident: Incident = {
        id,
        ...given,
        status: 'open',
        reportedAt: new Date().toISOString(),
        ...(origins && { origins: [...origins] }),
        ...(owner !== undefined && { reportedBy: owner }),
      };
      await write(incident, { actor, owner, reason: `${id} was reported` });
      await bus.publish({
        topic: 'security.incident.reported',
        payload: JSON.parse(JSON.stringify(incident)),
        principal,
      });
      return incident;
    });
  }

  /** Undefined when there is no such incident. */
  async function resolve(
    id: string,
    note: string | undefined,
    actor: string,
    principal: Principal,
  ): Promise<Incident | undefined> {
    await catchUp();
    return await changes.run(async () => {
      const found = (await current()).find((incident) => incident.id === id);
      if (found === undefined || found.status === 'resolved') return found;
      const resolvedAt = new Date().toISOString();
      const resolved: Incident = {
        ...found,
        status: 'resolved',
        resolvedAt,
        ...(note && { resolutionNote: note }),
      };
      await write(resolved, { actor, owner: ownerOf(principal), reason: `${id} was resolved` });
      return resolved;
    });
  }

  /** Changes one incident of the file. A file that cannot be read is kept aside: the write replaces it. */
  async function write(incident: Incident, note: ChangeNote): Promise<void> {
    const { id: about } = incident;
    let made: readonly Incident[] = [];
    let kept: Draft | undefined;
    const change = async (text: string | null) => {
      kept = await controlPlane.keepAside('incidents', 'incidents');
      made = withoutOldest(withIncident(incidentsIn(text), incident));
      return incidentsText(made);
    };
    await controlPlane.update('incidents', 'incidents', change, { ...note, about });
    written = made;
    if (kept !== undefined) await bus.publish(kept);
  }

  return { list, report, resolve };
}

/** Undefined for the operator and for services: what they report has no bound. */
function ownerOf(principal: Principal): string | undefined {
  return ['operator', 'service'].includes(principal.kind) ? undefined : ownerKey(principal);
}

export type IncidentRepository = ReturnType<typeof createIncidentRepository>;

export function mountIncidents(app: Hono<SwitchboardEnv>, incidents: IncidentRepository): void {
  app.get('/api/incidents', describeRoute({ summary: 'All incidents' }), (context) =>
    context.json({ success: true, data: incidents.list() }),
  );
  const { incident_unknown, incidents_unusable, incidents_full } = errors;
  const report = describeRoute({
    summary: 'Reports an incident',
    status: 201,
    errors: [incidents_unusable, incidents_full],
  });
  app.post('/api/incidents', report, validate('json', newIncident), async (context) => {
    const given = withoutUndefined(context.req.valid('json'));
    const { caller, principal } = context.var;
    const incident = await incidents.report(given, caller.name, principal).catch(throwFailure);
    return context.json({ success: true, data: incident }, 201);
  });
  const resolve = describeRoute({
    summary: 'Resolves an incident',
    errors: [incident_unknown, incidents_unusable],
  });
  app.post('/api/incidents/:id/resolve', resolve, validate('json', resolution), async (context) => {
    const id = context.req.param('id');
    const { resolutionNote } = context.req.valid('json');
    const { caller, principal } = context.var;
    const incident = await incidents.resolve(id, resolutionNote, caller.name, principal).catch(throwFailure);
    if (incident === undefined) throw incident_unknown({ id });
    return context.json({ success: true, data: incident });
  });
}

/** Such as an incidents.yaml that is a pipe: nothing was reported. */
function throwFailure(error: unknown): never {
  if (error instanceof HttpError) throw error;
  if (!(error instanceof ControlPlaneError)) throwBusFailure(error);
  throw errors.incidents_unusable({ words: error.message }, { cause: error });
}
