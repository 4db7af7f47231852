// What a turn of the agent costs with everything kept, beside the AI SDK's bare loop that keeps nothing.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';

const QUESTION = 'What is 12 * 34?';
const WARM_UP = 60;
const TURNS = 400;
const AT_ONCE = 8;
const PARKED = 1000;

interface Server {
  url: string;
  pid: number;
  /** What is still in use after a collection of garbage, in MB. */
  held(): Promise<number>;
  stop(): Promise<void>;
}

interface Cost {
  perSecond: number;
  cpuMilliseconds: number;
}

export async function run(): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const env = { ...process.env, TRUNKLINE_HOME: home, AGENT_PORT: '0' };
  const agent = await startServer('agent/agent-process.ts', env);
  const bare = await startServer('agent/bare-loop.ts', env);
  try {
    const ours = await measure(agent, (index) => ask(agent.url, QUESTION, `context-${index}`));
    const theirs = await measure(bare, () => askBare(bare.url));
    const before = await agent.held();
    await inParallel(PARKED, (index) => park(agent.url, index));
    const resident = residentMegabytes(agent.pid);
    const after = await agent.held();
    return [
      compare('turns with a tool, all kept', 'turns/s', ours.perSecond, theirs.perSecond, 'higher'),
      compare('CPU of a turn', 'ms', ours.cpuMilliseconds, theirs.cpuMilliseconds, 'lower'),
      alone('memory with 1,000 parked tasks', resident),
      alone('of it held by the parked tasks', Math.max(after - before, 0)),
    ];
  } finally {
    await agent.stop();
    await bare.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

function compare(
  name: string,
  unit: string,
  ours: number,
  bare: number,
  better: BenchResult['better'],
): BenchResult {
  return { name, unit, ours, peers: { 'bare AI SDK loop, nothing kept': bare }, ratio: ours / bare, better };
}

function alone(name: string, megabytes: number): BenchResult {
  return { name, unit: 'MB', ours: megabytes, peers: {}, ratio: 0, better: 'lower' };
}

async function measure(server: Server, turn: (index: number) => Promise<void>): Promise<Cost> {
  await inParallel(WARM_UP, (index) => turn(-index));
  const cpu = cpuMilliseconds(server.pid);
  const began = performance.now();
  await inParallel(TURNS, turn);
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: TURNS / seconds, cpuMilliseconds: (cpuMilliseconds(server.pid) - cpu) / TURNS };
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function ask(url: string, text: string, contextId: string): Promise<void> {
  const state = await send(url, text, contextId);
  if (state !== 'completed') throw new Error(`The agent ended a turn as ${state}.`);
}

async function park(url: string, index: number): Promise<void> {
  const state = await send(url, 'Ask me which colour I like', `parked-${index}`);
  if (state !== 'input-required') throw new Error(`A task that should wait is ${state}.`);
}

async function send(url: string, text: string, contextId: string): Promise<string> {
  const message = { role: 'user', contextId, parts: [{ kind: 'text', text }] };
  const answer = await post(`${url}/a2a`, {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message },
  });
  return (answer as { result: { status: { state: string } } }).result.status.state;
}

async function askBare(url: string): Promise<void> {
  const { text } = (await post(url, { prompt: QUESTION })) as { text: string };
  if (!text.includes('408')) throw new Error(`The bare loop answered: ${text}`);
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

function startServer(script: string, env: NodeJS.ProcessEnv): Promise<Server> {
  const child = spawn(process.execPath, ['--expose-gc', join(import.meta.dirname, script)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${script} ended before it listened.`)));
    child.stdout?.on('data', (line: Buffer) => {
      const url = String(line).trim();
      resolve({ url, pid: child.pid ?? 0, held: () => held(child), stop: () => stop(child) });
    });
  });
}

function held(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('message', (megabytes) => resolve(Number(megabytes)));
    child.send('held');
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

/** User and system time; the kernel counts in hundredths of a second. */
function cpuMilliseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

if (import.meta.main) console.table(await run());
