import type { ServiceName } from '../fleet.ts';
import type { Entry, Standing } from '../ledger.ts';
import type { Random } from '../random.ts';

/** What a load is given to work with. */
export interface Ground {
  urls: Readonly<Record<ServiceName, string>>;
  random: Random;
  /** The wall clock of the process under load. */
  now(): number;
  /** Ends everything that still reads when the run is over. */
  signal: AbortSignal;
}

/** One kind of work for the services, and how to find out what became of it. */
export interface Load {
  name: string;
  /** Longest pause between two offers, in milliseconds. */
  pauseMs: number;
  /** How many are accepted before it rests; no end when not given. */
  most?: number;
  /** Offers one thing; undefined, or a throw, when it was not accepted. */
  offer(mark: string): Promise<Omit<Entry, 'load'> | undefined>;
  /** How everything that was accepted stands now. */
  standings(entries: readonly Entry[]): Promise<{ entry: Entry; standing: Standing }[]>;
}

/** For loads that ask for each entry by itself. */
export async function oneByOne(entries: readonly Entry[], find: (entry: Entry) => Promise<Standing>) {
  const found: { entry: Entry; standing: Standing }[] = [];
  for (const entry of entries) found.push({ entry, standing: await find(entry) });
  return found;
}

/** For things that are kept rather than answered: each must be there once. */
export function keptOnce(entries: readonly Entry[], texts: readonly string[]) {
  return entries.map((entry) => {
    const times = texts.filter((text) => hasMark(text, entry.mark)).length;
    const standing: Standing =
      times === 0 ? { state: 'missing', times, reason: 'it is not kept' } : { state: 'answered', times };
    return { entry, standing };
  });
}

export function hasMark(text: string, mark: string): boolean {
  return countMarks(text, mark) > 0;
}

/** How often the mark stands in the text; `soak-a-1` does not stand in `soak-a-12`. */
export function countMarks(text: string, mark: string): number {
  return text.match(new RegExp(`${mark}(?![\\w-])`, 'g'))?.length ?? 0;
}
