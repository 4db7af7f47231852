import type { BenchResult } from '../result.ts';
import { compared, median, rate } from './measure.ts';
import { createWorkload, type Workload } from './patterns.ts';
import { type Contestant, contestants } from './peers.ts';

const rounds = 5;
const roundMs = 250;

/** Everyone holds the same patterns, is asked about the same topics, and takes turns. */
export function measureMatching(): BenchResult[] {
  const workload = createWorkload();
  const all = Object.fromEntries(
    Object.entries(contestants).map(([name, create]) => [name, filled(create(), workload)]),
  );
  checkAgreement(all, workload);
  const known = race(all, workload.known);
  const fresh = race(all, workload.fresh);
  const unit = 'topics per CPU second';
  return [
    compared(
      { name: 'match, 10,001 patterns, topics that come again', unit, better: 'higher', goal: '10 x' },
      known,
    ),
    compared({ name: 'match, 10,001 patterns, every topic new', unit, better: 'higher' }, fresh),
  ];
}

function filled(contestant: Contestant, { patterns }: Workload): Contestant {
  for (const pattern of patterns) contestant.add(pattern, () => undefined);
  return contestant;
}

/** A benchmark of wrong answers is none. */
function checkAgreement(all: Record<string, Contestant>, { known, fresh }: Workload): void {
  for (const topic of [...known, ...fresh.slice(0, 1000)]) {
    const counts = Object.values(all).map((contestant) => contestant.count(topic));
    if (new Set(counts).size > 1) throw new Error(`They do not agree on ${topic}: ${counts.join(', ')}`);
  }
}

function race(all: Record<string, Contestant>, topics: readonly string[]): Record<string, number> {
  const results: Record<string, number[]> = Object.fromEntries(Object.keys(all).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, contestant] of Object.entries(all)) {
      results[name]?.push(rate(topics, roundMs, (topic) => contestant.count(topic)));
    }
  }
  return Object.fromEntries(Object.entries(results).map(([name, rates]) => [name, median(rates)]));
}
