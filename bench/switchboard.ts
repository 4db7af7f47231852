// From POST /publish to a skill that begins, beside express with an emitter or a row for each message, and NATS.
import { fileURLToPath } from 'node:url';
import { compared, median, percentile } from './bus/measure.ts';
import type { BenchResult } from './result.ts';
import { type Client, startClient } from './switchboard/client.ts';
import type { Contestant } from './switchboard/contestant.ts';
import { measureFlowMemory } from './switchboard/flow-memory.ts';
import { startOurs } from './switchboard/ours.ts';
import { startInMemory, startNats, startWithRows } from './switchboard/peers.ts';

const connections = 64;
const warmUp = 6000;
const perRound = 4000;
const rounds = 5;
const latencies = 600;
const pauseMs = 2;

interface Figures {
  perSecond: number;
  /** Microseconds of the main thread a message. */
  mainThread: number;
  /** Milliseconds from a request to its answer, with one connection. */
  alone: number;
  p50: number;
  p99: number;
}

const names = {
  ours: startOurs,
  'express + a row for each message in SQLite': startWithRows,
  'NATS + node:http, nothing kept': startNats,
  'express + eventemitter2, nothing kept': startInMemory,
};

export async function run(): Promise<BenchResult[]> {
  const figures: Record<string, Figures> = {};
  for (const [name, start] of Object.entries(names)) figures[name] = await measure(await start());
  const column = (field: keyof Figures) =>
    Object.fromEntries(Object.entries(figures).map(([name, found]) => [name, found[field]]));
  const overhead = { unit: 'ms', better: 'lower' } as const;
  return [
    compared(
      {
        name: 'messages from POST /publish to a skill',
        unit: 'per second',
        better: 'higher',
        goal: 'at least 4,000, and the peer that keeps messages',
      },
      column('perSecond'),
    ),
    compared(
      { name: 'processor time of a message, main thread', unit: 'us', better: 'lower', goal: 'below 250' },
      column('mainThread'),
    ),
    compared(
      {
        ...overhead,
        name: 'from POST /publish to its answer, one at a time, half are below',
        goal: 'below 1 ms',
      },
      column('alone'),
    ),
    compared(
      { ...overhead, name: 'from publish to the start of the skill, half are below', goal: 'below 1 ms' },
      column('p50'),
    ),
    compared(
      {
        ...overhead,
        name: 'from publish to the start of the skill, 99 of 100 are below',
        goal: 'below 25 ms',
      },
      column('p99'),
    ),
    measureFlowMemory(),
  ];
}

async function measure(contestant: Contestant): Promise<Figures> {
  const client = startClient();
  try {
    await flood(contestant, client, 'warm', warmUp);
    const runs: { perSecond: number; mainThread: number }[] = [];
    for (let round = 0; round < rounds; round += 1)
      runs.push(await flood(contestant, client, `r${round}`, perRound));
    const { p50: alone } = await flood(contestant, client, 'alone', latencies, 1);
    const times = await overheads(contestant);
    return {
      perSecond: median(runs.map(({ perSecond }) => perSecond)),
      mainThread: median(runs.map(({ mainThread }) => mainThread)),
      alone,
      p50: percentile(times, 0.5),
      p99: percentile(times, 0.99),
    };
  } finally {
    client.stop();
    await contestant.stop();
  }
}

/** All connections busy until every message has been answered and begun with. */
async function flood(
  contestant: Contestant,
  client: Client,
  prefix: string,
  count: number,
  atOnce = connections,
) {
  const { url, headers = {} } = contestant;
  const done = Promise.withResolvers<void>();
  let handled = 0;
  contestant.onHandled = () => {
    handled += 1;
    if (handled === count) done.resolve();
  };
  const before = process.threadCpuUsage();
  const flooded = await client.flood({ url, headers, prefix, count, connections: atOnce });
  await done.promise;
  const { user, system } = process.threadCpuUsage(before);
  return { ...flooded, mainThread: (user + system) / count };
}

/** One message at a time, so that nothing waits for another. */
async function overheads(contestant: Contestant): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < latencies; index += 1) {
    const begun = Promise.withResolvers<number>();
    contestant.onHandled = () => begun.resolve(performance.now());
    const start = performance.now();
    await contestant.publish(`single-${index}`);
    times.push((await begun.promise) - start);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return times;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
