// From POST /publish to a skill that begins, beside express with an emitter or a row for each message, and NATS.
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { compared, median, percentile } from './bus/measure.ts';
import type { BenchResult } from './result.ts';
import { type Contestant, words } from './switchboard/contestant.ts';
import { measureFlowMemory } from './switchboard/flow-memory.ts';
import { startOurs } from './switchboard/ours.ts';
import { startInMemory, startNats, startWithRows } from './switchboard/peers.ts';

const connections = 64;
const perRound = 1500;
const rounds = 3;
const latencies = 600;
const pauseMs = 2;

interface Figures {
  perSecond: number;
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
  try {
    await flood(contestant, 'warm', perRound / 3);
    const rates: number[] = [];
    for (let round = 0; round < rounds; round += 1)
      rates.push(await flood(contestant, `r${round}`, perRound));
    const times = await overheads(contestant);
    return { perSecond: median(rates), p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  } finally {
    await contestant.stop();
  }
}

/** All connections busy until every message has been begun with. */
async function flood(contestant: Contestant, prefix: string, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const done = Promise.withResolvers<void>();
  let [next, handled] = [0, 0];
  contestant.onHandled = () => {
    handled += 1;
    if (handled === count) done.resolve();
  };
  const start = performance.now();
  const send = async () => {
    while (next < count) await post(contestant, `${prefix}-${next++}`, agent);
  };
  await Promise.all([...Array.from({ length: connections }, send), done.promise]);
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return count / seconds;
}

function post({ url, headers: own }: Contestant, correlationId: string, agent: Agent): Promise<void> {
  const payload = { skillHint: 'work', content: words };
  const body = JSON.stringify({ topic: 'agent.skill.request', payload, correlationId });
  const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const headers = { ...type, ...own };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/publish`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      if (response.statusCode === 200) response.once('end', resolve);
      else reject(new Error(`a message was refused with status ${response.statusCode}`));
    });
    sent.once('error', reject);
    sent.end(body);
  });
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
