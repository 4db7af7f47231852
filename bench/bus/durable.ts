import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, createNatsBus } from '@trunkline/bus';
import { natsMissing, startNatsServer } from '@trunkline/testing';
import type { BenchResult } from '../result.ts';
import { withEmbeddedBus } from './buses.ts';
import { percentile } from './measure.ts';

const publishers = 64;
const publishMs = 3000;
const latencyMessages = 2000;
const payload = { content: 'A message of the usual length, with a few words in it.' };

/** The journal has no peer among the emitters: here our goals stand alone. */
export async function measureDurable(): Promise<BenchResult[]> {
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
