// The client of the switchboard's benchmark, in a process of its own: what it costs must not count for whom it asks. Sockets without
// an HTTP library, as one costs more than the answer.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { percentile } from '../bus/measure.ts';
import { words } from './contestant.ts';

export interface Flood {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Of the correlation ids. */
  prefix: string;
  count: number;
  connections: number;
}

export interface Flooded {
  perSecond: number;
  /** Milliseconds from the request to its answer. */
  p50: number;
  p99: number;
}

export interface Client {
  /** All connections busy until every message was answered; rejects when one is refused. */
  flood(flood: Flood): Promise<Flooded>;
  stop(): void;
}

export function startClient(): Client {
  const child: ChildProcess = fork(import.meta.filename);
  return {
    async flood(flood) {
      child.send(flood);
      const [answer] = (await once(child, 'message')) as [Flooded | { refused: string }];
      if ('refused' in answer) throw new Error(`a message was refused: ${answer.refused}`);
      return answer;
    },
    stop: () => void child.disconnect(),
  };
}

if (import.meta.main)
  process.on('message', (flood: Flood) => {
    ask(flood).then(
      (flooded) => process.send?.(flooded),
      (error: unknown) => process.send?.({ refused: String(error) }),
    );
  });

async function ask({ url, headers, prefix, count, connections }: Flood): Promise<Flooded> {
  const { hostname, port, host } = new URL(url);
  const all = { host, 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /publish HTTP/1.1\r\n${lines.join('')}content-length: `;
  const times: number[] = [];
  let next = 0;
  const start = performance.now();
  const work = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    socket.setEncoding('latin1');
    while (next < count) {
      const correlationId = `${prefix}-${next++}`;
      const payload = { skillHint: 'work', content: words };
      const body = JSON.stringify({ topic: 'agent.skill.request', payload, correlationId });
      const sentAt = performance.now();
      socket.write(`${head}${body.length}\r\n\r\n${body}`, 'latin1');
      let answer = '';
      while (!isWhole(answer)) answer += (await once(socket, 'data'))[0];
      if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(answer.slice(0, 200));
      times.push(performance.now() - sentAt);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, work));
  const seconds = (performance.now() - start) / 1000;
  return { perSecond: count / seconds, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(answer)?.[1];
  return end !== -1 && answer.length >= end + 4 + Number(length ?? 0);
}
