import { connect, type Socket } from 'node:net';
import { type Child, startChild } from '@trunkline/testing';
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
/**
 * Rounds like those that are measured, the questions for reports included: V8 compiles for some 20,000 requests, and anew
 * after the first request of another kind. That belongs to the start of a server, not to a message.
 */
const warmUpRounds = 50;
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
  for (let round = 0; round < warmUpRounds; round += 1) {
    for (const { client } of servers) await sample(client, undefined);
  }
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

interface Client {
  /** Asks over all connections at once; gives the microseconds until the first frame of each answer was here. */
  many(method: string, count: number): Promise<number[]>;
  /** What the server says of itself at that path. */
  report(path: string): Promise<number>;
  close(): void;
}

/** Sockets and no HTTP library: on the same machine, what a library costs the client would hide what the server costs. */
function createClient(port: number, connections: number): Client {
  const wires = Array.from({ length: connections }, () => new Wire(port));
  const [first] = wires;
  if (first === undefined) throw new Error('A client needs a connection.');
  return {
    async many(method, count) {
      const request = requestOf(method);
      const firstFrames: number[] = [];
      let left = count;
      const work = async (wire: Wire) => {
        while (left-- > 0) firstFrames.push((await wire.ask(request)).firstFrame);
      };
      await Promise.all(wires.map(work));
      return firstFrames;
    },
    report: async (path) => Number((await first.ask(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)).body),
    close() {
      for (const wire of wires) wire.close();
    },
  };
}

function requestOf(method: string): string {
  const message = { messageId: 'bench', role: 'ROLE_USER', parts: [{ text: 'Say hello to the bench' }] };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
  const head = [
    'POST /a2a HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/json',
    'a2a-version: 1.0',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

interface Answer {
  body: string;
  firstFrame: number;
}

/** One kept connection, one request at a time. */
class Wire {
  readonly #socket: Socket;
  #text = '';
  #startedAt = 0;
  #firstFrame = 0;
  #exchange: PromiseWithResolvers<Answer> | undefined;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true).setEncoding('latin1');
    this.#socket.on('data', (text) => this.#take(String(text)));
    this.#socket.on('close', () => this.#exchange?.reject(new Error('The server closed the connection.')));
  }

  ask(request: string): Promise<Answer> {
    this.#text = '';
    this.#firstFrame = 0;
    this.#exchange = Promise.withResolvers();
    this.#startedAt = performance.now();
    this.#socket.write(request, 'latin1');
    return this.#exchange.promise;
  }

  close(): void {
    this.#exchange = undefined;
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    if (this.#firstFrame === 0 && this.#text.includes('\ndata:')) {
      this.#firstFrame = (performance.now() - this.#startedAt) * 1000;
    }
    const body = wholeBody(this.#text);
    if (body === undefined) return;
    // An error would be quicker than the work it replaces.
    if (isGood(body)) this.#exchange?.resolve({ body, firstFrame: this.#firstFrame });
    else this.#exchange?.reject(new Error(this.#text));
  }
}

/** Undefined while more is to come. */
function wholeBody(answer: string): string | undefined {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const body = answer.slice(end + 4);
  const [, length] = /content-length: (\d+)/i.exec(answer.slice(0, end)) ?? [];
  const whole = length === undefined ? body.endsWith('\r\n0\r\n\r\n') : body.length >= Number(length);
  return whole ? body : undefined;
}

function isGood(body: string): boolean {
  return body.includes('TASK_STATE_COMPLETED') || /^\d+$/.test(body);
}
