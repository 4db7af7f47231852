import type { CronPattern } from './cron-pattern.ts';
import type { Zone } from './zone.ts';

/** The instants of a pattern in a zone: where wall times meet the clock's changes. */
export interface Occurrences {
  next(after: number): number | undefined;
  previous(before: number): number | undefined;
}

export function occurrences(pattern: CronPattern, zone: Zone): Occurrences {
  const found = pattern.fixed ? fixedOccurrences(pattern, zone) : rhythmOccurrences(pattern, zone);
  return remembering(found);
}

/** Each wall time runs once: at its first showing, or right after the jump when the clock leaps over it. */
function fixedOccurrences(pattern: CronPattern, zone: Zone): Occurrences {
  return {
    next: (after) =>
      search(pattern.next, zone.wallAt(after), (wall) =>
        onlyIf(fixedInstant(zone, wall), (at) => at > after),
      ),
    previous(before) {
      const start = zone.repeatAround(before)?.end ?? zone.wallAt(before);
      return search(pattern.previous, start, (wall) => onlyIf(fixedInstant(zone, wall), (at) => at < before));
    },
  };
}

/** Runs whenever the clock shows a match: not in the hour that is left out, twice in the hour that is repeated. */
function rhythmOccurrences(pattern: CronPattern, zone: Zone): Occurrences {
  return {
    next(after) {
      const ahead = search(pattern.next, zone.wallAt(after), (wall) =>
        zone.instantsOf(wall).find((at) => at > after),
      );
      return earlier(ahead, secondShowing(pattern, zone, after));
    },
    previous(before) {
      const behind = search(pattern.previous, zone.wallAt(before), (wall) =>
        zone.instantsOf(wall).findLast((at) => at < before),
      );
      return later(behind, firstShowing(pattern, zone, before));
    },
  };
}

/** In a repeated hour's first showing, the search ahead does not see that its wall times come once more. */
function secondShowing(pattern: CronPattern, zone: Zone, after: number): number | undefined {
  const repeat = zone.repeatAround(after);
  if (repeat === undefined || after >= repeat.putBackAt) return undefined;
  const wall = pattern.next(repeat.start - 1);
  return wall === undefined || wall >= repeat.end ? undefined : repeat.putBackAt + wall - repeat.start;
}

/** In a repeated hour's second showing, the search behind does not see the later wall times of the first. */
function firstShowing(pattern: CronPattern, zone: Zone, before: number): number | undefined {
  const repeat = zone.repeatAround(before);
  if (repeat === undefined || before < repeat.putBackAt) return undefined;
  const wall = pattern.previous(repeat.end);
  return wall === undefined || wall < repeat.start ? undefined : repeat.putBackAt + wall - repeat.end;
}

/** A time that the clock leaps over runs when the leap is done, unless that is on another day. */
function fixedInstant(zone: Zone, wall: number): number | undefined {
  const [first] = zone.instantsOf(wall);
  if (first !== undefined) return first;
  const leapt = zone.endOfGap(wall);
  return dayOf(zone.wallAt(leapt)) === dayOf(wall) ? leapt : undefined;
}

/** Goes from match to match until one has an instant that will do. */
function search(
  step: (wall: number) => number | undefined,
  start: number,
  instantOf: (wall: number) => number | undefined,
): number | undefined {
  for (let wall = step(start); wall !== undefined; wall = step(wall)) {
    const instant = instantOf(wall);
    if (instant !== undefined) return instant;
  }
  return undefined;
}

function onlyIf(instant: number | undefined, condition: (instant: number) => boolean): number | undefined {
  return instant !== undefined && condition(instant) ? instant : undefined;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function later(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function dayOf(wall: number): number {
  return Math.floor(wall / 86_400_000);
}

/** The last answer holds for every question between its own and itself, so many jobs with one schedule cost one search. */
function remembering(found: Occurrences): Occurrences {
  let ahead = { after: 0, next: 0 };
  let behind = { previous: 0, before: 0 };
  return {
    next(after) {
      if (ahead.after <= after && after < ahead.next) return ahead.next;
      const next = found.next(after);
      if (next !== undefined) ahead = { after, next };
      return next;
    },
    previous(before) {
      if (behind.previous < before && before <= behind.before) return behind.previous;
      const previous = found.previous(before);
      if (previous !== undefined) behind = { previous, before };
      return previous;
    },
  };
}
