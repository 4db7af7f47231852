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
/** As many of croner's jobs as fit into Node's heap with ease. */
const PEER_AT_REST = 5000;
const LEAD_MS = 8000;
const LONGEST_MS = 60_000;

export async function run(): Promise<BenchResult[]> {
  return [...(await dueTogether()), ...(await atRest()), ...(await failOver())];
}

/** One-shots due at the same moment; each is journalled and noted before it counts. */
async function dueTogether(): Promise<BenchResult[]> {
  const ours = await ourLateness();
  const kept = percentile(await peerLateness('kept'));
  const croner = percentile(await peerLateness('croner'));
  const timers = percentile(await peerLateness('timers'));
  const drift = percentile(ours);
  const keepsNothing = { croner, 'Node timers': timers };
  return [
    besides('10,000 due together, each kept: late by, p99', 'ms', drift, { 'croner and SQLite': kept }),
    besides('10,000 due together, beside what keeps nothing: late by, p99', 'ms', drift, keepsNothing),
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
  const home = temporaryHome();
  const due = String(Date.now() + 5000);
  const late = await output<number[]>('./schedules/peer.ts', [side, String(DUE), due, home]);
  rmSync(home, { recursive: true, force: true });
  return late;
}

/** Every minute of the year comes up, none within the run. */
async function atRest(): Promise<BenchResult[]> {
  const [home, fewer, empty] = [temporaryHome(), temporaryHome(), temporaryHome()];
  const bare = await startBoard(empty);
  await bare.stop();
  const schedule = (number: number) => `${number % 60} ${Math.floor(number / 60) % 24} 1 1 *`;
  writeRecords(fewer, PEER_AT_REST, schedule);
  const peer = await output<Weight>('./schedules/rest-peer.ts', [recordsOf(fewer)]);
  writeRecords(home, AT_REST, schedule);
  const first = await startBoard(home);
  await first.stop();
  const again = await startBoard(home);
  await again.stop();
  for (const place of [home, fewer, empty]) rmSync(place, { recursive: true, force: true });
  const perThousand = (value: number) => value / (AT_REST / 1000);
  const peers = (value: number) => ({ 'yaml and croner': value / (PEER_AT_REST / 1000) });
  const [firstMs, againMs] = [first.startMs - bare.startMs, again.startMs - bare.startMs];
  const heapMb = again.heapMb - bare.heapMb;
  return [
    besides('1,000 of 100,000 new files at a start', 'ms', perThousand(firstMs), peers(peer.startMs)),
    besides('1,000 of 100,000 known files at a start', 'ms', perThousand(againMs), peers(peer.startMs)),
    besides('heap for 1,000 of 100,000 at rest', 'MB', perThousand(heapMb), peers(peer.heapMb)),
    result('first start with 100,000 new files', 'ms', first.startMs),
    result('start with 100,000 schedules', 'ms', again.startMs),
    result('start with none', 'ms', bare.startMs),
    result('heap for 100,000 schedules at rest', 'MB', heapMb),
  ];
}

/** From the kill of the one that leads until the other does, with the lease as it is set by default. */
async function failOver(): Promise<BenchResult[]> {
  if (natsMissing !== undefined) return [];
  const nats = await startNatsServer();
  const ours = await ourFailOver(nats.url);
  const peer = await peerFailOver(nats.url);
  await nats.stop();
  const name = 'another leads after kill -9 (lease of 5 s)';
  return [{ ...besides(name, 'ms', ours, { 'a key of NATS by hand': peer }), goal: 'at most 6,500' }];
}

async function ourFailOver(url: string): Promise<number> {
  const homes = [temporaryHome(), temporaryHome()];
  const boards = await Promise.all(homes.map((home) => startBoard(home, { NATS_URL: url })));
  await until(async () => (await Promise.all(boards.map(leads))).includes(true));
  const index = (await leads(boards[0] as Board)) ? 0 : 1;
  const [leader, other] = [boards[index] as Board, boards[1 - index] as Board];
  await leader.kill();
  const killed = performance.now();
  await until(() => leads(other));
  const took = performance.now() - killed;
  await other.stop();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
  return took;
}

async function peerFailOver(url: string): Promise<number> {
  const begin = (name: string) => startProcess('./schedules/lease-peer.ts', [url, name]);
  const leader = begin('one');
  await firstOutput(leader);
  const other = begin('two');
  // It has asked at least once.
  await delay(2000);
  await end(leader, 'SIGKILL');
  const killed = performance.now();
  await firstOutput(other);
  const took = performance.now() - killed;
  await end(other, 'SIGKILL');
  return took;
}

async function leads({ url }: Board): Promise<boolean> {
  const response = await fetch(`${url}/api/cluster`);
  const { data } = (await response.json()) as { data: { isLeader: boolean } };
  return data.isLeader;
}

interface Board extends Weight {
  url: string;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

async function startBoard(home: string, more: Record<string, string> = {}): Promise<Board> {
  const env = { TRUNKLINE_HOME: home, SWITCHBOARD_PORT: '0', DISABLE_AGENT_RUNTIME: '1', ...more };
  const child = startProcess('./schedules/board.ts', [], env);
  const figures = JSON.parse(await firstOutput(child)) as Pick<Board, 'url' | 'startMs' | 'heapMb'>;
  return { ...figures, stop: () => end(child, 'SIGTERM'), kill: () => end(child, 'SIGKILL') };
}

interface Weight {
  startMs: number;
  heapMb: number;
}

function startProcess(script: string, values: string[], env: Record<string, string> = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return spawn(process.execPath, ['--expose-gc', path, ...values], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function firstOutput(child: ReturnType<typeof startProcess>): Promise<string> {
  const [line] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(LONGEST_MS) });
  return String(line);
}

/** What a program prints as JSON before it ends. */
async function output<Value>(script: string, values: string[]): Promise<Value> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const flags = ['--expose-gc', path, ...values];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: LONGEST_MS });
  return JSON.parse(stdout) as Value;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** On a topic that is journalled and that no agent answers, so that the schedules alone are measured. */
function writeRecords(home: string, count: number, scheduleOf: (number: number) => string): void {
  const directory = recordsOf(home);
  mkdirSync(directory, { recursive: true });
  for (let number = 0; number < count; number += 1) {
    const text = `id: job-${number}\nschedule: ${scheduleOf(number)}\ntimezone: UTC\ntopic: message.outbound.bench\npayload:\n  content: Job ${number}\n`;
    writeFileSync(join(directory, `job-${number}.yaml`), text);
  }
}

function recordsOf(home: string): string {
  return join(home, 'switchboard', 'workspace', 'crons');
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

function besides(name: string, unit: string, ours: number, peers: Record<string, number>): BenchResult {
  return { ...result(name, unit, ours), peers, ratio: ours / Math.min(...Object.values(peers)) };
}

function result(name: string, unit: string, ours: number): BenchResult {
  return { name, unit, ours, peers: {}, ratio: 0, better: 'lower' };
}

function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
}

if (import.meta.main) console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio']);
