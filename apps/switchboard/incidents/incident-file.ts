import { parseYaml } from '@trunkline/config';
import { stringify } from 'yaml';
import { kinds } from '../workspace/kinds.ts';
import type { Incident } from '../workspace/schema/channels.ts';

const { schema, file } = kinds.incidents;

/** Throws with line and reason when the text is not valid. */
export function readIncidents(text: string): readonly Incident[] {
  return parseYaml(text, schema, { file, expand: false }).incidents;
}

/** The same incidents have the same text at every switchboard, in whatever order they arrived there. */
export function incidentsText(incidents: readonly Incident[]): string {
  const sorted = incidents.toSorted((one, other) => numberOf(one) - numberOf(other));
  // The schema puts the fields of each in one order.
  return stringify(schema.parse({ incidents: sorted }));
}

export function numberOf({ id }: Pick<Incident, 'id'>): number {
  return Number(id.slice('INC-'.length));
}

/** Adds an incident or resolves the one with its id, with the same outcome in whatever order switchboards do so. */
export function withIncident(incidents: readonly Incident[], incident: Incident): readonly Incident[] {
  const known = incidents.find(({ id }) => id === incident.id);
  if (known === undefined) return [...incidents, incident];
  if (endOf(known) <= endOf(incident)) return incidents;
  return incidents.map((each) => (each.id === incident.id ? incident : each));
}

/** Sorts the first resolution of an incident before later ones, and before an open incident. */
function endOf({ status, resolvedAt = '', resolutionNote = '' }: Incident): string {
  return status === 'resolved' ? `${resolvedAt} ${resolutionNote}` : '~';
}
