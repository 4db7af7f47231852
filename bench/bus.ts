// The bus beside eventemitter2, mqemitter and qlobber: matching, delivery, memory; its journal and latency alone.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Bus, createNatsBus } from '@trunkline/bus';
import { natsMissing, startNatsServer } from '@trunkline/testing';
import { measureDelivery } from './bus/delivery.ts';
import { compared, median, percentile, rate } from './bus/measure.ts';
import { measureMemory } from './bus/memory.ts';
import { type Contestant, contestants, createWorkload, type Workload, withEmbeddedBus } from './bus/peers.ts';
import type { BenchResult } from './result.ts';

export async function run(): Promise<BenchResult[]> {
  return [
    ...measureMatching(),
    ...(await measureDelivery()),
    ...measureMemory(),
    ...(await measureDurable()),
  ];
}

const rounds = 5;
const roundMs = 250;

/** Everyone holds the same patterns, is asked about the same topics, and takes turns. */
function measureMatching(): BenchResult[] {
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

const publishers = 64;
const publishMs = 3000;
const latencyMessages = 2000;
const payload = { content: 'A message of the usual length, with a few words in it.' };

/** The journal has no peer among the emitters: here our goals stand alone. */
async function measureDurable(): Promise<BenchResult[]> {
  const embedded = await withEmbeddedBus((bus) => measureBus('embedded', bus));
  return [...embedded, ...(await measureNats())];
}

async function measureNats(): Promise<BenchResult[]> {
  if (natsMissing !== undefined) {
    console.error(`bus over NATS not measured: ${natsMissing}`);
    return [];
  }
  const server = await startNatsServer();
  const bus = await createNatsBus({ servers: server.url });
  try {
    return await measureBus('NATS', bus);
  } finally {
    await bus.stop();
    await server.stop();
  }
}

async function measureBus(engine: string, bus: Bus): Promise<BenchResult[]> {
  const latencies = await latency(bus);
  const rate = await durableRate(bus);
  const alone = { peers: {}, ratio: 0 };
  return [
    {
      ...alone,
      name: `durable publish, ${engine}, ${publishers} in flight`,
      unit: 'messages/s',
      ours: rate,
      better: 'higher',
      ...(engine === 'embedded' ? { goal: '20,000' } : {}),
    },
    {
      ...alone,
      name: `publish to durable handler, ${engine}, p50`,
      unit: 'ms',
      ours: percentile(latencies, 0.5),
      better: 'lower',
    },
    {
      ...alone,
      name: `publish to durable handler, ${engine}, p99`,
      unit: 'ms',
      ours: percentile(latencies, 0.99),
      better: 'lower',
    },
  ];
}

/** Closed loop: each publisher goes on when its message is in the journal. */
async function durableRate(bus: Bus): Promise<number> {
  const start = performance.now();
  let accepted = 0;
  const publish = async () => {
    while (performance.now() - start < publishMs) {
      await bus.publish({ topic: `message.outbound.chat.${accepted % 50}`, payload });
      accepted += 1;
    }
  };
  await Promise.all(Array.from({ length: publishers }, publish));
  return (accepted / (performance.now() - start)) * 1000;
}

/** Milliseconds from the call of publish to the start of a durable subscriber's handler, one at a time. */
async function latency(bus: Bus): Promise<number[]> {
  const started = new Map<string, number>();
  const taken: number[] = [];
  const subscription = await bus.subscribe(
    'message.inbound.#',
    ({ id }) => void taken.push(performance.now() - (started.get(id) ?? 0)),
    { durable: 'bench' },
  );
  for (let number = 0; number < latencyMessages; number += 1) {
    const id = `latency-${number}`;
    started.set(id, performance.now());
    await bus.publish({ topic: 'message.inbound.chat.x', id, payload });
    await delay(1);
  }
  while (taken.length < latencyMessages) await delay(5);
  await subscription.forget();
  return taken;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
