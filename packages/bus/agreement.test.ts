import { type Bus, createEmbeddedBus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer, temporaryDirectory } from '@trunkline/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patience } from './suites/world.suite.ts';

const word = fc.constantFrom('message', 'inbound', 'cron', 'a', 'b>', '%2E', '~', 'ü');
const topics = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('.'));
const patterns = fc
  .tuple(fc.array(fc.oneof(word, fc.constant('*')), { maxLength: 3 }), fc.boolean())
  .map(([words, rest]) => (rest || words.length === 0 ? [...words, '#'] : words).join('.'));

describe.skipIf(natsMissing)(`embedded and NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  const directory = temporaryDirectory();
  let server: NatsServer;
  let buses: Bus[];
  beforeAll(async () => {
    server = await startNatsServer();
    buses = [
      await createEmbeddedBus({ directory: directory.path }),
      await createNatsBus({ servers: server.url, retainBytes: 50_000_000 }),
    ];
  });
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus.stop()));
    await server.stop();
    directory.remove();
  });

  it('bring the same messages to the same patterns, in the same order for each', async () => {
    const scenario = fc.record({
      patterns: fc.uniqueArray(patterns, { minLength: 1, maxLength: 6 }),
      topics: fc.array(topics, { minLength: 1, maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const [embedded, nats] = await Promise.all(
          buses.map((bus) => play(bus, given.patterns, given.topics)),
        );
        expect(nats).toEqual(embedded);
      }),
      { numRuns: 60 },
    );
  });
});

/** For each pattern the topics that came under it, in order. */
async function play(bus: Bus, patterns: string[], topics: string[]): Promise<Record<string, string[]>> {
  const heard: Record<string, string[]> = Object.fromEntries(patterns.map((pattern) => [pattern, []]));
  let ended = false;
  const subscriptions = await Promise.all(
    patterns.map((pattern) => bus.subscribe(pattern, ({ topic }) => void heard[pattern]?.push(topic))),
  );
  const end = await bus.subscribe('end.of.play', () => {
    ended = true;
  });
  for (const [index, topic] of topics.entries()) await bus.publish({ topic, payload: index });
  await bus.publish({ topic: 'end.of.play', payload: null });
  await vi.waitFor(() => expect(ended).toBe(true), patience);
  await Promise.all([...subscriptions, end].map((subscription) => subscription.unsubscribe()));
  return heard;
}
