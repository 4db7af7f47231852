import type { LineProblem } from '@trunkline/std';

const MOST_PROBLEMS_SHOWN = 20;

/** All that is wrong with some settings, found in one reading, so that it can be mended in one go. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly string[];

  constructor(headline: string, problems: readonly string[], options?: ErrorOptions) {
    super([headline, ...linesOf(problems)].join('\n'), options);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Splits a problem of a file, `file:line:column: message`, for an editor. */
export function lineProblem(problem: string): LineProblem {
  const [, line = '1', column = '1', message = problem] = /^.*?:(\d+):(\d+): ([\s\S]*)$/.exec(problem) ?? [];
  return { line: Number(line), column: Number(column), message };
}

function linesOf(problems: readonly string[]): string[] {
  const shown = problems.slice(0, MOST_PROBLEMS_SHOWN).map((problem) => `  - ${problem}`);
  const rest = problems.length - shown.length;
  return rest > 0 ? [...shown, `  - and ${rest} more`] : shown;
}

/** The candidate that is most like the word, when one is near enough to be a slip of the fingers. */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  mostSlips = Math.max(2, Math.floor(word.length / 3)),
): string | undefined {
  let best: string | undefined;
  let bestDistance = mostSlips + 1;
  const lower = word.toLowerCase();
  const letters = lettersOf(lower);
  for (const candidate of candidates) {
    // Each start compares the names of the environment with all settings: most differ in length or letters already.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const other = candidate.toLowerCase();
    const others = lettersOf(other);
    if (Math.max(countBits(letters & ~others), countBits(others & ~letters)) >= bestDistance) continue;
    const distance = editDistance(lower, other, bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Which letters a word has, a bit each. Each that another word lacks takes an edit of its own. */
function lettersOf(word: string): number {
  let letters = 0;
  for (let index = 0; index < word.length; index++) letters |= 1 << (word.charCodeAt(index) & 31);
  return letters;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

// Counts inserted, dropped, replaced and swapped letters; Infinity as soon as it cannot be below the limit, which is
// after a few letters for most words. Places that are as far apart as the limit cannot belong together.
function editDistance(left: string, right: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: Math.min(right.length, limit) + 1 }, (_, index) => index);
  let lastLeast = 0;
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    let least = row;
    for (let column = Math.max(1, row - limit); column <= Math.min(right.length, row + limit); column++) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      current[column] = distance;
      least = Math.min(least, distance);
    }
    // A swap reaches back two rows.
    if (least >= limit && lastLeast >= limit) return Number.POSITIVE_INFINITY;
    lastLeast = least;
    [beforeLast, last] = [last, current];
  }
  return at(last, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
