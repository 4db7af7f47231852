import { join } from 'node:path';
import type { Bus } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import type { ChangeNote, ControlPlane } from '../control/control-plane.ts';
import type { Incident } from '../workspace/schema/incidents.ts';
import type { Workspace } from '../workspace/workspace.ts';

export type NewIncident = Pick<Incident, 'title' | 'severity'> &
  Partial<Pick<Incident, 'description' | 'affectedProjects' | 'assignee'>>;

/** The incidents of `incidents.yaml`: reads, reports and resolves them. */
export class IncidentRepository {
  readonly #workspace: Workspace;
  readonly #controlPlane: ControlPlane;
  readonly #bus: Bus;
  /** What was written last, until the workspace has read it. */
  #written: readonly Incident[] | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(workspace: Workspace, controlPlane: ControlPlane, bus: Bus) {
    this.#workspace = workspace;
    this.#controlPlane = controlPlane;
    this.#bus = bus;
    workspace.onChange((file) => {
      const own = controlPlane.fileOf('incidents', 'incidents');
      if (file === join(workspace.directory, own)) this.#written = undefined;
    });
  }

  list(): readonly Incident[] {
    return this.#written ?? this.#workspace.incidents();
  }

  /** Adds an incident under the next number and tells the bus. */
  report(given: NewIncident, actor: string, principal: Principal): Promise<Incident> {
    return this.#inTurn(async () => {
      const known = this.list();
      const number = 1 + Math.max(0, ...known.map(({ id }) => Number(id.slice('INC-'.length))));
      const id = `INC-${String(number).padStart(3, '0')}`;
      const incident: Incident = { id, ...given, status: 'open', reportedAt: new Date().toISOString() };
      await this.#write([...known, incident], { actor, reason: `${id} was reported` });
      await this.#bus.publish({
        topic: 'security.incident.reported',
        payload: JSON.parse(JSON.stringify(incident)),
        principal,
      });
      return incident;
    });
  }

  /** Undefined when there is no such incident. */
  resolve(id: string, note: string | undefined, actor: string): Promise<Incident | undefined> {
    return this.#inTurn(async () => {
      const found = this.list().find((incident) => incident.id === id);
      if (found === undefined || found.status === 'resolved') return found;
      const resolvedAt = new Date().toISOString();
      const resolved: Incident = {
        ...found,
        status: 'resolved',
        resolvedAt,
        ...(note && { resolutionNote: note }),
      };
      const all = this.list().map((incident) => (incident.id === id ? resolved : incident));
      await this.#write(all, { actor, reason: `${id} was resolved` });
      return resolved;
    });
  }

  async #write(incidents: readonly Incident[], note: ChangeNote): Promise<void> {
    await this.#controlPlane.write('incidents', 'incidents', { incidents }, note);
    this.#written = incidents;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work, work);
    this.#turn = Promise.allSettled([done]);
    return done;
  }
}
