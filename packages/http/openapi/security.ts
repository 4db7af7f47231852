import { GUARDS_FIELD, type GuardMark } from './guard-mark.ts';
import type { Operation, SecurityScheme } from './types.ts';

export const SECURITY_SCHEMES: Record<string, SecurityScheme> = {
  'x-api-key': { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  bearer: { type: 'http', scheme: 'bearer' },
};

/** Turns the guards in front of a route into its security requirement: each guard must be met by one of its places. */
export function applyGuards(operation: Operation, path: string): void {
  const fields = operation as { [GUARDS_FIELD]?: GuardMark[] };
  const guards = [...new Set(fields[GUARDS_FIELD])].filter(({ except }) => !except.includes(path));
  delete fields[GUARDS_FIELD];
  if (guards.length === 0) return;
  operation.security = waysIn(guards);
  operation.responses = { '401': { description: 'A key is missing or unknown.' }, ...operation.responses };
}

/** Every combination of one place a guard, each combination once. */
function waysIn(guards: readonly GuardMark[]): Record<string, string[]>[] {
  const combinations = guards.reduce<string[][]>(
    (ways, { credentials }) => ways.flatMap((way) => credentials.map((place) => [...way, place])),
    [[]],
  );
  const distinct = new Map(combinations.map((places) => [[...new Set(places)].sort().join(), places]));
  return [...distinct.values()].map((places) => Object.fromEntries(places.map((place) => [place, []])));
}
