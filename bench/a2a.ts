import { type Child, startChild } from '@trunkline/testing';
import { type Client, createClient } from './a2a/client.ts';
import type { BenchResult } from './result.ts';

interface Figures {
  sendCpu: number;
  streamCpu: number;
  firstFrame: number;
  loneFirstFrame: number;
  memory: number;
}

const peer = '@a2a-js/sdk server (express, tasks in memory)';
const connections = 8;
const rounds = 20;
const sendsPerRound = 350;
const streamsPerRound = 150;
const loneStreams = 400;
const streaming = 'SendStreamingMessage';

/** Our server with persistence against the official SDK's without, each in a process of its own, in turns. */
export async function run(): Promise<BenchResult[]> {
  const servers: Server[] = [];
  try {
    for (const name of ['our-server', 'sdk-server']) servers.push(await startServer(`./a2a/${name}.ts`));
    const [ours, theirs] = await measure(servers);
    if (ours === undefined || theirs === undefined) throw new Error('A server was not measured.');
    return compareAll(ours, theirs);
  } finally {
    for (const server of servers) await server.stop();
  }
}

function compareAll(ours: Figures, theirs: Figures): BenchResult[] {
  const compare = (name: string, unit: string, figure: keyof Figures): BenchResult => ({
    name,
    unit,
    ours: ours[figure],
    peers: { [peer]: theirs[figure] },
    ratio: ours[figure] / theirs[figure],
    better: 'lower',
    goal: 'at most 0.5 of the peer',
  });
  return [
    compare('A2A SendMessage, processor time of the server', 'µs', 'sendCpu'),
    compare('A2A SendStreamingMessage, processor time of the server', 'µs', 'streamCpu'),
    compare(`A2A time to the first frame, ${connections} streams at once, median`, 'µs', 'firstFrame'),
    compare('A2A time to the first frame, a stream alone, median', 'µs', 'loneFirstFrame'),
    compare('A2A memory held for 10,000 tasks', 'MB', 'memory'),
  ];
}

interface Server {
  client: Client;
  stop(): Promise<void>;
}

async function startServer(script: string): Promise<Server> {
  const child = startChild(new URL(script, import.meta.url), { nodeFlags: ['--expose-gc'] });
  const client = createClient(await portOf(child), connections);
  return {
    client,
    async stop() {
      client.close();
      await child.kill('SIGTERM');
    },
  };
}

/** Round by round, so that what else the machine does falls on all servers alike. */
async function measure(servers: readonly Server[]): Promise<Figures[]> {
  const samples = servers.map(
    () => ({ send: [], stream: [], firstFrame: [], loneFirstFrame: [] }) as Samples,
  );
  for (const { client } of servers) await warmUp(client);
  const before = await Promise.all(servers.map(({ client }) => client.report('/memory')));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { client }] of servers.entries()) await sample(client, samples[index]);
  }
  const after = await Promise.all(servers.map(({ client }) => client.report('/memory')));
  for (let count = 0; count < loneStreams; count += 1) {
    for (const [index, { client }] of servers.entries()) {
      samples[index]?.loneFirstFrame.push(...(await client.many(streaming, 1)));
    }
  }
  return samples.map(({ send, stream, firstFrame, loneFirstFrame }, index) => ({
    sendCpu: median(send),
    streamCpu: median(stream),
    firstFrame: median(firstFrame),
    loneFirstFrame: median(loneFirstFrame),
    memory: Math.max(0, (after[index] ?? 0) - (before[index] ?? 0)) / 1e6,
  }));
}

interface Samples {
  send: number[];
  stream: number[];
  firstFrame: number[];
  loneFirstFrame: number[];
}

async function warmUp(client: Client): Promise<void> {
  await client.many('SendMessage', 6000);
  await client.many(streaming, 5000);
}

async function sample(client: Client, samples: Samples | undefined): Promise<void> {
  const sent = await cpuPerRequest(client, 'SendMessage', sendsPerRound);
  const streamed = await cpuPerRequest(client, streaming, streamsPerRound);
  samples?.send.push(sent.cpu);
  samples?.stream.push(streamed.cpu);
  samples?.firstFrame.push(...streamed.firstFrames);
}

async function cpuPerRequest(
  client: Client,
  method: string,
  count: number,
): Promise<{ cpu: number; firstFrames: number[] }> {
  const before = await client.report('/cpu');
  const firstFrames = await client.many(method, count);
  return { cpu: ((await client.report('/cpu')) - before) / count, firstFrames };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

async function portOf(child: Child): Promise<number> {
  const line = await child.waitForLine('listening on ');
  return Number(line.split(' ').at(-1));
}

if (import.meta.main) console.table(await run());
