// Thousands of schedules in one process: what they cost to arm, to hold and to fire, beside croner's one timer per job.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseSchedule, Scheduler } from '@trunkline/schedule';
import { Cron } from 'croner';
import type { BenchResult } from './result.ts';

/** Both sides are measured with this many; a hundred thousand of croner's jobs outgrow Node's heap of four gigabytes. */
const shared = 5000;
const many = 100_000;
const longestRun = 60_000;

export async function run(): Promise<BenchResult[]> {
  const [ours, croner] = [await measure('arm', 'ours', shared), await measure('arm', 'croner', shared)];
  const alone = await measure('arm', 'ours', many);
  return [
    result('arm 5,000 cron jobs', 'CPU ms', ours.value, croner.value),
    result('memory of 5,000 cron jobs', 'MB', ours.memory, croner.memory),
    result('timers of 5,000 cron jobs', 'timers', ours.timers, croner.timers),
    await compare('fire 5,000 one-shots due together', 'CPU ms', 'fire', shared),
    await compare('next time in a zone', 'CPU µs', 'next', shared),
    result('arm 100,000 cron jobs', 'CPU ms', alone.value),
    result('memory of 100,000 cron jobs', 'MB', alone.memory),
    { ...result('timers of 100,000 cron jobs', 'timers', alone.timers), goal: '1' },
    result('fire 100,000 one-shots due together', 'CPU ms', (await measure('fire', 'ours', many)).value),
  ];
}

type Side = 'ours' | 'croner';

async function compare(name: string, unit: string, task: string, count: number): Promise<BenchResult> {
  const [ours, croner] = [await measure(task, 'ours', count), await measure(task, 'croner', count)];
  return result(name, unit, ours.value, croner.value);
}

function result(name: string, unit: string, ours: number, croner?: number): BenchResult {
  const better = 'lower';
  if (croner === undefined) return { name, unit, ours, peers: {}, ratio: 0, better };
  return { name, unit, ours, peers: { croner }, ratio: ours / croner, better };
}

interface Figures {
  value: number;
  memory: number;
  timers: number;
}

/** Each figure comes from a process of its own, so that no side inherits the other's memory. */
async function measure(task: string, side: Side, count: number): Promise<Figures> {
  const script = fileURLToPath(import.meta.url);
  const flags = ['--expose-gc', script, '--child', task, side, String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: longestRun });
  return JSON.parse(stdout) as Figures;
}

const tasks: Record<string, (side: Side, count: number) => number | Promise<number>> = {
  arm: armCronJobs,
  fire: fireTogether,
  next: nextTimes,
};

async function child(task: string, side: Side, count: number): Promise<void> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const value = (await tasks[task]?.(side, count)) ?? 0;
  globalThis.gc?.();
  const memory = (process.memoryUsage().heapUsed - before) / 2 ** 20;
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  process.stdout.write(JSON.stringify({ value, memory, timers }), () => process.exit(0));
}

/** What is armed must stay reachable until its memory is measured. */
const kept: unknown[] = [];

function armCronJobs(side: Side, count: number): number {
  const before = process.cpuUsage();
  const scheduler = side === 'ours' ? startedScheduler(() => undefined) : undefined;
  for (let number = 0; number < count; number += 1) {
    const [text, timezone] = [cronText(number), zones[number % zones.length] ?? 'UTC'];
    if (scheduler !== undefined) scheduler.add({ ...job(number, text), timezone });
    else kept.push(new Cron(text, { mode: '5-part', timezone }, () => undefined));
  }
  return cpuMilliseconds(before);
}

/** The best of three waves. A lead that was too short for arming is doubled. */
async function fireTogether(side: Side, count: number): Promise<number> {
  const times: number[] = [];
  for (let lead = 1500; times.length < 3; ) {
    const time = await fireWave(side, count, Date.now() + lead);
    if (time === undefined) lead *= 2;
    else times.push(time);
  }
  return Math.min(...times);
}

/** What the processor works from the end of arming until the last handler has run; undefined when they were due before. */
async function fireWave(side: Side, count: number, due: number): Promise<number | undefined> {
  const last = Promise.withResolvers<void>();
  let fired = 0;
  const fire = (): void => {
    fired += 1;
    if (fired === count) last.resolve();
  };
  const scheduler = side === 'ours' ? startedScheduler(fire) : undefined;
  for (let number = 0; number < count; number += 1) {
    if (scheduler !== undefined) scheduler.add(job(number, new Date(due).toISOString()));
    else kept.push(new Cron(new Date(due), { allowPast: true }, fire));
  }
  globalThis.gc?.();
  const armedInTime = Date.now() < due;
  const before = process.cpuUsage();
  await last.promise;
  const spent = cpuMilliseconds(before);
  kept.length = 0;
  return armedInTime ? spent : undefined;
}

/** Questions far apart, so that no remembered answer helps. */
function nextTimes(side: Side, count: number): number {
  const [text, timezone] = ['30 2 * * 1-5', 'Europe/Berlin'];
  const schedule = parseSchedule(text, { timezone });
  const cron = new Cron(text, { mode: '5-part', timezone });
  const ask =
    side === 'ours' ? (time: number) => schedule.next(time) : (time: number) => cron.nextRun(new Date(time));
  const before = process.cpuUsage();
  for (let round = 0; round < count; round += 1) ask(Date.UTC(2026, 0, 1 + (round % 3650), round % 24));
  return (cpuMilliseconds(before) / count) * 1000;
}

/** Work of the processor, as other programs on the machine would blur the time on the wall. */
function cpuMilliseconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

function startedScheduler(fire: () => void): Scheduler {
  const onError = (error: unknown): void => console.error(error);
  const scheduler = new Scheduler({ fire, onError, timezone: 'UTC' });
  scheduler.start();
  kept.push(scheduler);
  return scheduler;
}

function job(number: number, schedule: string) {
  return { id: `job-${number}`, schedule, overlap: 'skip' as const, createdAt: Date.now() };
}

const zones = ['UTC', 'Europe/Berlin', 'America/New_York'];

/** Every minute of the day comes up, none within the run. */
function cronText(number: number): string {
  return `${number % 60} ${Math.floor(number / 60) % 24} 1 1 *`;
}

if (process.argv[2] === '--child') {
  const [task = '', side = '', count = '0'] = process.argv.slice(3);
  await child(task, side === 'ours' ? 'ours' : 'croner', Number(count));
} else if (import.meta.main) {
  console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio']);
}
