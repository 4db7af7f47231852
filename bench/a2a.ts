import { Agent, request } from 'node:http';
import { type Child, startChild } from '@trunkline/testing';
import type { ServerUse } from './a2a/control.ts';
import type { BenchResult } from './result.ts';

interface Figures {
  sendCpu: number;
  streamCpu: number;
  firstFrame: number;
  memory: number;
  resident: number;
}

const peer = '@a2a-js/sdk server (in memory, node:http)';
const connections = 8;

/** Our server with persistence against the official SDK's without, each in a process of its own, one after the other. */
export async function run(): Promise<BenchResult[]> {
  const theirs = await measure('./a2a/sdk-server.ts', '/');
  const ours = await measure('./a2a/our-server.ts', '/a2a');
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
    compare('A2A memory for 10,000 tasks', 'MB', 'memory'),
    compare('A2A growth of the process with 10,000 tasks', 'MB', 'resident'),
  ];
}

async function measure(script: string, path: string): Promise<Figures> {
  const child = startChild(new URL(script, import.meta.url), { nodeFlags: ['--expose-gc'] });
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  try {
    const client = createClient(await portOf(child), path, agent);
    await client.many('SendMessage', 1500);
    await client.many('SendStreamingMessage', 1000);
    const before = await client.use();
    const sendCpu = await cpuPerRequest(client, 'SendMessage', 7000);
    const streamCpu = await cpuPerRequest(client, 'SendStreamingMessage', 3000);
    const after = await client.use();
    const firstFrame = await medianFirstFrame(client, 400);
    return {
      sendCpu,
      streamCpu,
      firstFrame,
      memory: (after.memory - before.memory) / 1e6,
      resident: (after.resident - before.resident) / 1e6,
    };
  } finally {
    agent.destroy();
    await child.kill('SIGTERM');
  }
}

async function cpuPerRequest(client: Client, method: string, count: number): Promise<number> {
  const before = await client.use();
  await client.many(method, count);
  const after = await client.use();
  return (after.cpu - before.cpu) / count;
}

async function medianFirstFrame(client: Client, count: number): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) times.push(await client.one('SendStreamingMessage'));
  return times.toSorted((left, right) => left - right)[Math.floor(count / 2)] ?? 0;
}

interface Client {
  /** Resolves with the microseconds until the first byte of the body. */
  one(method: string): Promise<number>;
  many(method: string, count: number): Promise<void>;
  use(): Promise<ServerUse>;
}

function createClient(port: number, path: string, agent: Agent): Client {
  const post = (method: string) => exchange({ port, path, method: 'POST', agent }, bodyOf(method));
  return {
    one: async (method) => (await post(method)).firstByte,
    async many(method, count) {
      let left = count;
      const worker = async () => {
        while (left-- > 0) await post(method);
      };
      await Promise.all(Array.from({ length: connections }, worker));
    },
    async use() {
      const { text } = await exchange({ port, path: '/use', method: 'GET', agent }, undefined);
      return JSON.parse(text) as ServerUse;
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
      response.on('end', () => (isGood(text) ? resolve({ text, firstByte }) : reject(new Error(text))));
    });
    outgoing.on('error', reject).end(body);
  });
}

/** An error would be quicker than the work it replaces. */
function isGood(text: string): boolean {
  return !text.includes('"error"');
}

async function portOf(child: Child): Promise<number> {
  const line = await child.waitForLine('listening on ');
  return Number(line.split(' ').at(-1));
}

if (import.meta.main) console.table(await run());
