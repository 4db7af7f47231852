import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, 'durations.json');
/** Of a file that is not listed: it is quick, or new. */
const UNLISTED_S = 0.5;

/** What files of tests took on two quiet cores, those of a second or more; `npm test -- --durations` writes it. */
const known = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, number>;

/** How long a file of tests, named from the root, keeps a worker. */
export function secondsOf(file: string): number {
  return known[file] ?? UNLISTED_S;
}

export function writeDurations(seconds: Readonly<Record<string, number>>): void {
  const listed = Object.entries(seconds)
    .map(([file, taken]) => [file, Math.round(taken)] as const)
    .filter(([, taken]) => taken >= 1)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`);
}
