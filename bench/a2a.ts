import { Agent, request } from 'node:http';
import { type Child, startChild } from '@trunkline/testing';
import type { BenchResult } from './result.ts';

interface Figures {
  sendCpu: number;
  streamCpu: number;
  firstFrame: number;
  memory: number;
}

const peer = '@a2a-js/sdk server (express, tasks in memory)';
const connections = 8;
const rounds = 5;
const sendsPerRound = 1400;
const streamsPerRound = 600;
const firstFrames = 400;

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
    compare('A2A time to the first frame of a stream, median', 'µs', 'firstFrame'),
    compare('A2A memory held for 10,000 tasks', 'MB', 'memory'),
  ];
}

interface Server {
  client: Client;
  stop(): Promise<void>;
}

async function startServer(script: string): Promise<Server> {
  const child = startChild(new URL(script, import.meta.url), { nodeFlags: ['--expose-gc'] });
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    client: createClient(await portOf(child), agent),
    async stop() {
      agent.destroy();
      await child.kill('SIGTERM');
    },
  };
}

/** Round by round, so that what else the machine does falls on all servers alike. */
async function measure(servers: readonly Server[]): Promise<Figures[]> {
  const samples = servers.map(() => ({ send: [], stream: [], firstFrame: [] }) as Samples);
  for (const { client } of servers) await warmUp(client);
  const before = await Promise.all(servers.map(({ client }) => client.report('/memory')));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { client }] of servers.entries()) await sample(client, samples[index]);
  }
  const after = await Promise.all(servers.map(({ client }) => client.report('/memory')));
  for (let count = 0; count < firstFrames; count += 1) {
    for (const [index, { client }] of servers.entries()) {
      samples[index]?.firstFrame.push(await client.one('SendStreamingMessage'));
    }
  }
  return samples.map(({ send, stream, firstFrame }, index) => ({
    sendCpu: median(send),
    streamCpu: median(stream),
    firstFrame: median(firstFrame),
    memory: Math.max(0, (after[index] ?? 0) - (before[index] ?? 0)) / 1e6,
  }));
}

interface Samples {
  send: number[];
  stream: number[];
  firstFrame: number[];
}

async function warmUp(client: Client): Promise<void> {
  await client.many('SendMessage', 6000);
  await client.many('SendStreamingMessage', 5000);
}

async function sample(client: Client, samples: Samples | undefined): Promise<void> {
  samples?.send.push(await cpuPerRequest(client, 'SendMessage', sendsPerRound));
  samples?.stream.push(await cpuPerRequest(client, 'SendStreamingMessage', streamsPerRound));
}

async function cpuPerRequest(client: Client, method: string, count: number): Promise<number> {
  const before = await client.report('/cpu');
  await client.many(method, count);
  return ((await client.report('/cpu')) - before) / count;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

interface Client {
  /** Resolves with the microseconds until the first byte of the body. */
  one(method: string): Promise<number>;
  many(method: string, count: number): Promise<void>;
  /** What the server says of itself at that path. */
  report(path: string): Promise<number>;
}

function createClient(port: number, agent: Agent): Client {
  const post = (method: string) => exchange({ port, path: '/a2a', method: 'POST', agent }, bodyOf(method));
  return {
    one: async (method) => (await post(method)).firstByte,
    async many(method, count) {
      let left = count;
      const worker = async () => {
        while (left-- > 0) await post(method);
      };
      await Promise.all(Array.from({ length: connections }, worker));
    },
    async report(path) {
      const { text } = await exchange({ port, path, method: 'GET', agent }, undefined);
      return Number(text);
    },
  };
}

function bodyOf(method: string): string {
  const message = { messageId: 'bench', role: 'ROLE_USER', parts: [{ text: 'Say hello to the bench' }] };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
}

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

function exchange(
  target: { port: number; path: string; method: string; agent: Agent },
  body: string | undefined,
): Promise<{ text: string; firstByte: number }> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', headers, ...target }, (response) => {
      let text = '';
      let firstByte = 0;
      response.setEncoding('utf8').on('data', (chunk: string) => {
        if (text === '') firstByte = (performance.now() - startedAt) * 1000;
        text += chunk;
      });
      response.on('end', () => {
        // An error would be quicker than the work it replaces.
        if (isGood(text)) resolve({ text, firstByte });
        else reject(new Error(text));
      });
    });
    outgoing.on('error', reject).end(body);
  });
}

function isGood(text: string): boolean {
  return text.includes('TASK_STATE_COMPLETED') || /^\d+$/.test(text);
}

async function portOf(child: Child): Promise<number> {
  const line = await child.waitForLine('listening on ');
  return Number(line.split(' ').at(-1));
}

if (import.meta.main) console.table(await run());
