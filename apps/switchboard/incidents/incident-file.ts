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

/** Open incidents of one reporter, and resolved ones that are kept: so many, of so many characters together. */
const mostOfOne = { open: 100, resolved: 200, characters: 256_000 };

/** Why a reporter may add no incident; undefined where it fits. */
export function fullWords(
  incidents: readonly Incident[],
  incident: Pick<Incident, 'title' | 'reportedBy'>,
): string | undefined {
  const { reportedBy } = incident;
  if (reportedBy === undefined) return undefined;
  const open = incidents.filter((each) => each.reportedBy === reportedBy && each.status !== 'resolved');
  const size = sizeOf(open);
  const isFull = open.length >= mostOfOne.open || size + sizeOf(incident) > mostOfOne.characters;
  if (!isFull) return undefined;
  return `${open.length} incidents that you reported are open, of ${size} characters, and at most ${mostOfOne.open} of ${mostOfOne.characters} may be: resolve some, or write less.`;
}

/** Without the oldest resolved incidents of reporters who have many. */
export function withoutOldest(incidents: readonly Incident[]): readonly Incident[] {
  const resolved = incidents.filter((each) => each.reportedBy !== undefined && each.status === 'resolved');
  const removed = new Set<Incident>();
  for (const own of Map.groupBy(resolved, ({ reportedBy }) => reportedBy).values()) {
    let characters = 0;
    for (const [index, each] of own.toSorted((one, other) => numberOf(other) - numberOf(one)).entries()) {
      characters += sizeOf(each);
      if (index >= mostOfOne.resolved || characters > mostOfOne.characters) removed.add(each);
    }
  }
  return removed.size === 0 ? incidents : incidents.filter((each) => !removed.has(each));
}

function sizeOf(stored: object): number {
  return JSON.stringify(stored).length;
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
