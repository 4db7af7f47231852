import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchResult } from './result.ts';
import type { Heard, Order } from './voice-media/clients.ts';
import type { Usage } from './voice-media/server.ts';

const CALLS = 20;
const SECONDS = 6;
/** Both sides by turns, so that each gets the same of what else goes on. */
const ROUNDS = 3;
/** Sound is looked at once all calls have settled. */
const SETTLE_MS = 2000;
const CYCLES = 400;
const AT_ONCE = 8;
/** What is loaded and kept for later is no leak. */
const WARM_UP = 200;
/** No answer within this time means that the machine cannot carry the load at all. */
const PATIENCE_MS = 60_000;

type Side = 'ours' | 'in-process' | 'plain';

interface Load {
  ms: number;
  cpuMs: number;
  /** Processor time that the host of this machine kept for others. */
  stolenMs: number;
  late: number;
  samples: number;
  concealed: number;
  residentMb: number;
}

/** Twenty calls at once and hundreds one after the other, with our layer and with the bare library. */
export async function run(): Promise<BenchResult[]> {
  const loads: Record<Side, Load[]> = { ours: [], 'in-process': [], plain: [] };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of ['ours', 'in-process', 'plain'] as const) loads[side].push(await load(side));
  const [ours, inProcess, plain] = [total(loads.ours), total(loads['in-process']), total(loads.plain)];
  const [grown, plainGrown] = [await growth('ours'), await growth('plain')];
  const against = (value: number) => ({ 'bare @roamhq/wrtc': value });
  const share = (part: number, whole: number) => (100 * part) / whole;
  return [
    row(
      `CPU of one core at ${CALLS} calls (ours also makes 16 kHz for recognition)`,
      '%',
      share(ours.cpuMs, ours.ms),
      against(share(plain.cpuMs, plain.ms)),
    ),
    row('the same, our layer with and without a process for the library', '%', share(ours.cpuMs, ours.ms), {
      'library in the service itself': share(inProcess.cpuMs, inProcess.ms),
    }),
    row('memory at 20 calls, both processes', 'MB', ours.residentMb / ROUNDS, {
      'library in the service itself': inProcess.residentMb / ROUNDS,
    }),
    {
      ...row(
        `sound made up by the receiver at ${CALLS} calls`,
        '%',
        share(ours.concealed, ours.samples),
        against(share(plain.concealed, plain.samples)),
      ),
      goal: 'at most the peer',
    },
    { ...row(`frames late in ${ROUNDS * SECONDS} s at ${CALLS} calls`, 'frames', ours.late, {}), goal: '0' },
    {
      ...row(
        'processors that the host of this machine took away meanwhile',
        '%',
        share(ours.stolenMs, ours.ms),
        against(share(plain.stolenMs, plain.ms)),
      ),
      ratio: 0,
    },
    {
      ...row(
        `memory grown by each of ${CYCLES} calls after ${WARM_UP} others`,
        'KB',
        grown,
        against(plainGrown),
      ),
      goal: 'at most the peer',
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

function total(loads: readonly Load[]): Load {
  const sum = (name: keyof Load) => loads.reduce((before, one) => before + one[name], 0);
  return {
    ms: sum('ms'),
    cpuMs: sum('cpuMs'),
    stolenMs: sum('stolenMs'),
    late: sum('late'),
    samples: sum('samples'),
    concealed: sum('concealed'),
    residentMb: sum('residentMb'),
  };
}

async function load(side: Side): Promise<Load> {
  return await withPair(side, async ({ port, usage, order }) => {
    await order({ kind: 'connect', port, count: CALLS });
    await delay(SETTLE_MS);
    const look = async () => ({
      usage: await usage(),
      heard: (await order({ kind: 'heard' })) as Heard,
      stolenMs: stolenMs(),
    });
    const before = await look();
    await delay(SECONDS * 1000);
    const after = await look();
    return {
      ms: after.usage.atMs - before.usage.atMs,
      cpuMs: after.usage.cpuMs - before.usage.cpuMs,
      stolenMs: after.stolenMs - before.stolenMs,
      late: after.usage.lateFrames - before.usage.lateFrames,
      samples: after.heard.samples - before.heard.samples,
      concealed: after.heard.concealed - before.heard.concealed,
      residentMb: after.usage.rssMegabytes,
    };
  });
}

/** Of all processors together since the machine was started; 0 where nobody tells. */
function stolenMs(): number {
  if (!existsSync('/proc/stat')) return 0;
  const [total = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  return 10 * Number(total.split(/\s+/)[8] ?? 0);
}

/** Kilobytes that a call leaves behind once all are over. */
async function growth(side: Side): Promise<number> {
  return await withPair(side, async ({ port, usage, order }) => {
    const cycle = async (count: number) => {
      await order({ kind: 'cycle', port, count, atOnce: AT_ONCE });
      const deadline = performance.now() + PATIENCE_MS;
      for (let now = await usage(); now.calls > 0; now = await usage()) {
        if (performance.now() > deadline) throw new Error(`${now.calls} calls did not end.`);
        await delay(50);
      }
      await delay(SETTLE_MS);
      return await usage();
    };
    const before = await cycle(WARM_UP);
    const after = await cycle(CYCLES);
    return (1024 * (after.rssMegabytes - before.rssMegabytes)) / CYCLES;
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
