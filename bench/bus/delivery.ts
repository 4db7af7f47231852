import type { BenchResult } from '../result.ts';
import { compared, median } from './measure.ts';
import { contestants, createWorkload, type Workload, withEmbeddedBus } from './peers.ts';

const warmUpRounds = 3;
const rounds = 7;
const messagesPerRound = 5000;
const payload = { content: 'A message of the usual length, with a few words in it.', number: 1 };

/** The peers keep no journal either. */
const nothingDurable = { durableTopics: [] };

interface Runner {
  /** Brings one message to each topic and comes back when all handlers have run. */
  run(topics: readonly string[]): Promise<void>;
}

/** From publish to the end of the last handler, with 10,001 subscriptions; ours also checks, copies and freezes. */
export function measureDelivery(): Promise<BenchResult[]> {
  return withEmbeddedBus(async (bus) => {
    const workload = createWorkload();
    let handled = 0;
    const count = () => {
      handled += 1;
    };
    for (const pattern of workload.patterns)
      await bus.subscribe(pattern, count, { queueLimit: messagesPerRound });
    const ours: Runner = {
      async run(topics) {
        handled = 0;
        const expected = expectedCalls(topics);
        await Promise.all(topics.map((topic) => bus.publish({ topic, payload })));
        while (handled < expected) await new Promise(setImmediate);
      },
    };
    const expectedCalls = counter(workload);
    const runners = { ours, ...peers(workload) };
    const about = { name: 'deliver to 10,001 subscriptions', unit: 'messages/s', better: 'higher' } as const;
    return [compared(about, await race(runners, workload.known))];
  }, nothingDurable);
}

function counter({ patterns }: Workload): (topics: readonly string[]) => number {
  const index = contestants.ours?.();
  for (const pattern of patterns) index?.add(pattern, () => undefined);
  return (topics) => topics.reduce((sum, topic) => sum + (index?.count(topic) ?? 0), 0);
}

function peers({ patterns }: Workload): Record<string, Runner> {
  const able = Object.entries(contestants).flatMap(([name, create]) => {
    const contestant = create();
    return contestant.deliver === undefined ? [] : [{ name, contestant, deliver: contestant.deliver }];
  });
  return Object.fromEntries(
    able.map(({ name, contestant, deliver }) => {
      for (const pattern of patterns) contestant.add(pattern, () => undefined);
      return [
        name,
        { run: async (topics) => topics.forEach((topic) => void deliver(topic, payload)) } satisfies Runner,
      ];
    }),
  );
}

async function race(
  runners: Record<string, Runner>,
  known: readonly string[],
): Promise<Record<string, number>> {
  const topics = Array.from({ length: messagesPerRound }, (_, index) => known[index % known.length] ?? '');
  const results: Record<string, number[]> = Object.fromEntries(
    Object.keys(runners).map((name) => [name, []]),
  );
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [name, runner] of Object.entries(runners)) {
      const start = performance.now();
      await runner.run(topics);
      const rate = (topics.length / (performance.now() - start)) * 1000;
      if (round >= 0) results[name]?.push(rate);
    }
  }
  return Object.fromEntries(Object.entries(results).map(([name, rates]) => [name, median(rates)]));
}
