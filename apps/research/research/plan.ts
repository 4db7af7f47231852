import { stem, tokenize } from '../text/words.ts';
import type { PlannedDimension } from './job.ts';

/** Words without which a name says the same. */
const DISPENSABLE = new Set('a an the of and or in on its their'.split(' '));
/** Names of so many words are one point if one of them has a single word more. */
const LONG_NAME = 4;
const MOST_QUERIES = 3;

/** Makes one point of those that say the same, with the queries of all; it knows the names that went into it. */
export function mergeRepeated(planned: readonly PlannedDimension[], query: string): PlannedDimension[] {
  const merged: PlannedDimension[] = [];
  for (const each of planned) {
    const same = merged.find(({ name }) => isSamePoint(name, each.name, query));
    if (same === undefined) merged.push({ ...each });
    else {
      same.queries = [...new Set([...same.queries, ...each.queries])].slice(0, MOST_QUERIES);
      same.merged = [...(same.merged ?? []), each.name, ...(each.merged ?? [])];
    }
  }
  return merged;
}

/** What an event tells of a plan. */
export function planData(planned: readonly PlannedDimension[]) {
  const merged = planned.flatMap(({ name, merged: names = [] }) =>
    names.map((other) => ({ name: other, into: name })),
  );
  return { dimensions: planned.map(({ name }) => name), ...(merged.length > 0 && { merged }) };
}

/** Whether two names say the same beside the query: equal words in any order and form, or of a long name all but one. */
export function isSamePoint(left: string, right: string, query: string): boolean {
  const asked = nameWords(query);
  const [few = [], many = []] = [left, right]
    .map((name) => [...nameWords(name)].filter((word) => !asked.has(word)))
    .toSorted((a, b) => a.length - b.length);
  const extra = many.filter((word) => !few.includes(word));
  if (extra.length !== many.length - few.length) return false;
  if (extra.length === 0) return true;
  return extra.length === 1 && few.length >= LONG_NAME && !/\d/.test(extra[0] ?? '');
}

function nameWords(text: string): Set<string> {
  return new Set(
    tokenize(text)
      .filter((word) => !DISPENSABLE.has(word))
      .map(stem),
  );
}
