// The switchboard's schedules: ten thousand due at once, a hundred thousand at rest, and the time until another leads.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { natsMissing, startNatsServer } from '@trunkline/testing';
import type { BenchResult } from './result.ts';

const DUE = 10_000;
const AT_REST = 100_000;
const LEAD_MS = 9000;
const LONGEST_MS = 120_000;

export async function run(): Promise<BenchResult[]> {
  return [...(await dueTogether()), ...(await atRest()), ...(await failOver())];
}

/** One-shots due at the same moment; each is journalled and noted before it counts. */
async function dueTogether(): Promise<BenchResult[]> {
  const [ours, croner, timers] = await inTurn([
    () => ourLateness(),
    () => peerLateness('croner'),
    () => peerLateness('timers'),
  ]);
  const peers = {
    'croner, nothing kept': percentile(croner),
    'Node timers, nothing kept': percentile(timers),
  };
  const drift = percentile(ours);
  return [
    {
      ...result('10,000 due together, journalled: late by, p99', 'ms', drift),
      peers,
      ratio: drift / Math.min(...Object.values(peers)),
    },
    { ...result('10,000 due together: fires lost', 'fires', DUE - ours.length), goal: '0' },
  ];
}

/** A lead that was too short for the start is doubled. */
async function ourLateness(lead = LEAD_MS): Promise<number[]> {
  const home = temporaryHome();
  const due = Math.ceil((Date.now() + lead) / 1000) * 1000;
  writeRecords(home, DUE, () => new Date(due).toISOString());
  const board = await startBoard(home);
  const isInTime = Date.now() < due;
  const late = isInTime ? await latenessIn(join(home, 'switchboard', 'schedules.db')) : [];
  await board.stop();
  rmSync(home, { recursive: true, force: true });
  return isInTime ? late : await ourLateness(2 * lead);
}

async function latenessIn(path: string): Promise<number[]> {
  const database = new DatabaseSync(path, { readOnly: true });
  const count = database.prepare('SELECT count(*) AS count FROM fires');
  await until(() => Number(count.get()?.count) === DUE);
  const rows = database.prepare('SELECT firedAt - scheduledAt AS late FROM fires').all();
  database.close();
  return rows.map(({ late }) => Number(late));
}

async function peerLateness(side: string): Promise<number[]> {
  const script = fileURLToPath(new URL('./schedules/peer.ts', import.meta.url));
  const due = String(Date.now() + 8000);
  const { stdout } = await promisify(execFile)(process.execPath, [script, side, String(DUE), due], {
    timeout: LONGEST_MS,
  });
  return JSON.parse(stdout) as number[];
}

/** Every minute of the year comes up, none within the run. */
async function atRest(): Promise<BenchResult[]> {
  const [home, empty] = [temporaryHome(), temporaryHome()];
  const bare = await startBoard(empty);
  await bare.stop();
  writeRecords(home, AT_REST, (number) => `${number % 60} ${Math.floor(number / 60) % 24} 1 1 *`);
  const first = await startBoard(home);
  await first.stop();
  const again = await startBoard(home);
  await again.stop();
  for (const place of [home, empty]) rmSync(place, { recursive: true, force: true });
  return [
    result('first start with 100,000 new files', 'ms', first.startMs),
    result('start with 100,000 schedules', 'ms', again.startMs),
    result('start with none', 'ms', bare.startMs),
    result('heap for 100,000 schedules at rest', 'MB', again.heapMb - bare.heapMb),
  ];
}

/** From the kill of the one that leads until the other does, with the lease as it is set by default. */
async function failOver(): Promise<BenchResult[]> {
  if (natsMissing !== undefined) return [];
  const nats = await startNatsServer();
  const homes = [temporaryHome(), temporaryHome()];
  const boards = await Promise.all(homes.map((home) => startBoard(home, { NATS_URL: nats.url })));
  await until(async () => (await Promise.all(boards.map(leads))).includes(true));
  const index = (await leads(boards[0] as Board)) ? 0 : 1;
  const [leader, other] = [boards[index] as Board, boards[1 - index] as Board];
  await leader.kill();
  const killed = performance.now();
  await until(() => leads(other));
  const took = performance.now() - killed;
  await other.stop();
  await nats.stop();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
  return [{ ...result('another leads after kill -9 (lease of 5 s)', 'ms', took), goal: 'at most 6,500' }];
}

async function leads({ url }: Board): Promise<boolean> {
  const response = await fetch(`${url}/api/cluster`);
  const { data } = (await response.json()) as { data: { isLeader: boolean } };
  return data.isLeader;
}

interface Board {
  url: string;
  startMs: number;
  heapMb: number;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

async function startBoard(home: string, more: Record<string, string> = {}): Promise<Board> {
  const script = fileURLToPath(new URL('./schedules/board.ts', import.meta.url));
  const env = {
    ...process.env,
    TRUNKLINE_HOME: home,
    SWITCHBOARD_PORT: '0',
    DISABLE_AGENT_RUNTIME: '1',
    ...more,
  };
  const child = spawn(process.execPath, ['--expose-gc', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data', { signal: AbortSignal.timeout(LONGEST_MS) })) as [Buffer];
  const figures = JSON.parse(line.toString()) as Pick<Board, 'url' | 'startMs' | 'heapMb'>;
  return { ...figures, stop: () => end(child, 'SIGTERM'), kill: () => end(child, 'SIGKILL') };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** On a topic that is journalled and that no agent answers, so that the schedules alone are measured. */
function writeRecords(home: string, count: number, scheduleOf: (number: number) => string): void {
  const directory = join(home, 'switchboard', 'workspace', 'crons');
  mkdirSync(directory, { recursive: true });
  for (let number = 0; number < count; number += 1) {
    const text = `id: job-${number}\nschedule: ${scheduleOf(number)}\ntimezone: UTC\ntopic: message.outbound.bench\npayload:\n  content: Job ${number}\n`;
    writeFileSync(join(directory, `job-${number}.yaml`), text);
  }
}

async function inTurn<T>(works: (() => Promise<T>)[]): Promise<[T, T, T]> {
  const results: T[] = [];
  for (const work of works) results.push(await work());
  return results as [T, T, T];
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Not within ${LONGEST_MS} ms: ${condition}`);
    await delay(20);
  }
}

function percentile(values: number[]): number {
  const ascending = values.toSorted((one, other) => one - other);
  return ascending[Math.floor(ascending.length * 0.99)] ?? 0;
}

function result(name: string, unit: string, ours: number): BenchResult {
  return { name, unit, ours, peers: {}, ratio: 0, better: 'lower' };
}

function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
}

if (import.meta.main) console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio']);
