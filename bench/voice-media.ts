import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchResult } from './result.ts';
import type { Heard, Order } from './voice-media/clients.ts';
import type { Usage } from './voice-media/server.ts';

const CALLS = 20;
const SECONDS = 6;
const CYCLES = 200;
const AT_ONCE = 8;
/** What is loaded and kept for later is no leak. */
const WARM_UP = 240;
/** No answer within this time means that the machine cannot carry the load at all. */
const PATIENCE_MS = 30_000;

type Side = 'ours' | 'plain';

interface Load {
  cpuShare: number;
  late: number;
  concealed: number;
}

/** Twenty calls at once and two hundred one after the other, with our layer and with the bare library. */
export async function run(): Promise<BenchResult[]> {
  const [ours, plain] = [await load('ours'), await load('plain')];
  const [grown, plainGrown] = [await growth('ours'), await growth('plain')];
  const peer = 'bare @roamhq/wrtc';
  return [
    row(`CPU of one core at ${CALLS} calls (ours also makes 16 kHz for recognition)`, '%', ours.cpuShare, {
      [peer]: plain.cpuShare,
    }),
    row(`sound made up by the receiver at ${CALLS} calls`, '%', ours.concealed, { [peer]: plain.concealed }),
    { ...row(`frames late in ${SECONDS} s at ${CALLS} calls`, 'frames', ours.late, {}), goal: '0' },
    {
      ...row(`memory grown by ${CYCLES} calls one after the other`, 'MB', grown, { [peer]: plainGrown }),
      goal: 'flat',
    },
  ];
}

function row(name: string, unit: string, ours: number, peers: Record<string, number>): BenchResult {
  const best = Math.min(...Object.values(peers));
  return {
    name,
    unit,
    ours,
    peers,
    ratio: best > 0 && Number.isFinite(best) ? ours / best : 0,
    better: 'lower',
  };
}

async function load(side: Side): Promise<Load> {
  return await withPair(side, async ({ port, usage, order }) => {
    await order({ kind: 'connect', port, count: CALLS });
    await delay(2000);
    const [before, heardBefore] = [await usage(), (await order({ kind: 'heard' })) as Heard];
    await delay(SECONDS * 1000);
    const [after, heard] = [await usage(), (await order({ kind: 'heard' })) as Heard];
    return {
      cpuShare: (100 * (after.cpuMs - before.cpuMs)) / (after.atMs - before.atMs),
      late: after.lateFrames - before.lateFrames,
      concealed: (100 * (heard.concealed - heardBefore.concealed)) / (heard.samples - heardBefore.samples),
    };
  });
}

/** Megabytes that calls leave behind once all are over. */
async function growth(side: Side): Promise<number> {
  return await withPair(side, async ({ port, usage, order }) => {
    const cycle = async (count: number) => {
      await order({ kind: 'cycle', port, count, atOnce: AT_ONCE });
      const deadline = performance.now() + PATIENCE_MS;
      for (let now = await usage(); ; now = await usage()) {
        if (now.calls === 0) return now;
        if (performance.now() > deadline) throw new Error(`${now.calls} calls did not end.`);
        await delay(50);
      }
    };
    const before = await cycle(WARM_UP);
    const after = await cycle(CYCLES);
    return after.rssMegabytes - before.rssMegabytes;
  });
}

interface Pair {
  port: number;
  usage(): Promise<Usage>;
  order(order: Order): Promise<unknown>;
}

async function withPair<Value>(side: Side, work: (pair: Pair) => Promise<Value>): Promise<Value> {
  const start = (file: string, ...words: string[]) =>
    fork(new URL(`./voice-media/${file}`, import.meta.url), words, { execArgv: ['--expose-gc'] });
  const server = start('server.ts', side);
  const clients = start('clients.ts');
  try {
    const { port } = (await reply(server)) as { port: number };
    return await work({
      port,
      usage: async () => (await ask(server, 'usage')) as Usage,
      order: (order) => ask(clients, order),
    });
  } finally {
    // The library crashes at the end of a process; nothing is left to be done there.
    for (const child of [clients, server]) child.kill('SIGKILL');
  }
}

async function ask(child: ChildProcess, message: object | string): Promise<unknown> {
  child.send(message);
  return await reply(child);
}

async function reply(child: ChildProcess): Promise<unknown> {
  const ending = new AbortController();
  const signal = AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), ending.signal]);
  const end = () => ending.abort();
  child.once('exit', end);
  try {
    const [message] = (await once(child, 'message', { signal })) as [unknown];
    return message;
  } catch (cause) {
    throw new Error('A process of the benchmark gave no answer; other work may fill this machine.', {
      cause,
    });
  } finally {
    child.off('exit', end);
  }
}

if (import.meta.main) console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio', 'goal']);
