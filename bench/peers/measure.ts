import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Peer, Started } from './peer.ts';
import { Group } from './processes.ts';

const alone = 50;
const burst = 16;

export interface Limits {
  /** Units of work after the warm-up. */
  units: number;
  /** The load ends after this time, whatever has been done by then. */
  seconds: number;
}

export interface Measured {
  coldStart: number;
  warmStart: number;
  memoryAtStart: number;
  /** Units of the load; fewer than asked for where the time was up. */
  units: number;
  perSecond: number;
  cpuMilliseconds: number;
  /** Median with one at a time. */
  latency: number;
  memoryAfter: number;
  survives: string;
}

/** Starts the product three times, loads it, kills it, and looks for what it had answered. */
export async function measure(peer: Peer, gateway: string, limits: Limits): Promise<Measured> {
  for (const program of peer.needs)
    if (!isOnPath(program)) throw new Error(`${program} is not installed: apt-get install ${program}`);
  const home = mkdtempSync(join(tmpdir(), 'trunkline-peers-'));
  const groups: Group[] = [];
  const start = async () => {
    const processes = new Group(home);
    groups.push(processes);
    const place = { processes, home, gateway };
    await peer.prepare?.(place);
    const began = performance.now();
    const started = await peer.start(place);
    return { ...started, processes, startSeconds: (performance.now() - began) / 1000 };
  };
  try {
    const cold = await start();
    await cold.processes.stop();
    const warm = await start();
    await warm.processes.stop();
    const peerUnits = peer.units ?? limits.units;
    const running = await start();
    const { processes, work } = running;
    const inParallel = (count: number) => workInParallel(work, count, limits.seconds, peer.atOnce ?? 8);
    const memoryAtStart = processes.resident();
    await inParallel(Math.min(100, peerUnits / 5));
    const load = await measureLoad(processes, () => inParallel(peerUnits));
    const memoryAfter = processes.resident();
    const latency = running.delays ? median(running.delays()) : await measureLatency(work, limits.seconds);
    const receipts = running.isKept ? await inParallel(burst) : [];
    await processes.kill();
    return {
      coldStart: cold.startSeconds,
      warmStart: Math.min(warm.startSeconds, running.startSeconds),
      memoryAtStart,
      ...load,
      latency,
      memoryAfter,
      survives: running.isKept ? await countKept(await start(), receipts) : 'not kept',
    };
  } finally {
    for (const processes of groups) await processes.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function measureLoad(processes: Group, load: () => Promise<string[]>) {
  const cpu = processes.cpu();
  const began = performance.now();
  const { length } = await load();
  return {
    units: length,
    perSecond: (length * 1000) / (performance.now() - began),
    cpuMilliseconds: (processes.cpu() - cpu) / length,
  };
}

async function measureLatency(work: Started['work'], seconds: number): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < alone && performance.now() < end) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}

async function countKept({ isKept }: Started, receipts: readonly string[]): Promise<string> {
  let kept = 0;
  for (const receipt of receipts) if (await isKept?.(receipt)) kept += 1;
  return kept === receipts.length ? `yes, ${kept} of ${kept}` : `no, ${kept} of ${receipts.length}`;
}

async function workInParallel(
  work: Started['work'],
  count: number,
  seconds: number,
  atOnce: number,
): Promise<string[]> {
  const receipts: string[] = [];
  const end = performance.now() + seconds * 1000;
  let next = 0;
  const worker = async () => {
    while (next++ < count && performance.now() < end) receipts.push(await work());
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return receipts;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function isOnPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin'];
  return folders.some((folder) => existsSync(join(folder, program)));
}
