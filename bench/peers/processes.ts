import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, delimiter, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const startLimitMs = 180_000;
const pollMs = 20;

export interface Launch {
  cwd?: string;
  env?: Record<string, string>;
  /** Printed when it is ready (the first group is the result), or an address that answers then. */
  ready: RegExp | string;
  /** Three minutes where not given. */
  limitMs?: number;
}

/** The processes of one product, measured and ended together. */
export class Group {
  private readonly roots: ChildProcess[] = [];
  private readonly home: string;

  constructor(home: string) {
    this.home = home;
  }

  /** Starts a program with a small environment of its own and waits until it is ready. */
  async launch(
    command: string,
    args: readonly string[],
    { cwd, env, ready, limitMs = startLimitMs }: Launch,
  ): Promise<string> {
    const child = spawn(command, args, {
      cwd: cwd ?? this.home,
      env: this.environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.roots.push(child);
    let output = '';
    const keep = (chunk: Buffer) => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', keep as never);
    const end = performance.now() + limitMs;
    for (;;) {
      const found = typeof ready === 'string' ? await answers(ready) : ready.exec(output)?.[1];
      if (found !== undefined) return found;
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
        throw new Error(`${basename(command)} ended before it was ready: ${lastLine(output)}`);
      if (performance.now() > end)
        throw new Error(`${command} was not ready after ${limitMs / 1000} s: ${lastLine(output)}`);
      await delay(pollMs);
    }
  }

  /** Runs a program to its end, which must be a success. */
  async run(command: string, args: readonly string[], env?: Record<string, string>): Promise<void> {
    await promisify(execFile)(command, args, {
      cwd: this.home,
      env: this.environment(env),
      timeout: startLimitMs,
    });
  }

  private environment(env: Record<string, string> = {}): NodeJS.ProcessEnv {
    const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`;
    return { PATH: path, HOME: this.home, LANG: 'C.UTF-8', ...env };
  }

  /** User and system time so far, of all processes below these and of those that have ended, in milliseconds. */
  cpu(): number {
    return this.pids().reduce((sum, pid) => sum + cpuMilliseconds(pid), 0);
  }

  /** Resident memory of all processes, in MB. */
  resident(): number {
    return this.pids().reduce((sum, pid) => sum + residentMegabytes(pid), 0);
  }

  async stop(): Promise<void> {
    const pids = this.pids();
    for (const child of this.roots) child.kill('SIGTERM');
    await this.ended(10_000);
    signal(pids, 'SIGKILL');
    await this.ended(10_000);
  }

  /** What a power cut is to a process: all of them at once, without a word. */
  async kill(): Promise<void> {
    signal(this.pids(), 'SIGKILL');
    await this.ended(10_000);
  }

  private async ended(limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (this.roots.some(isRunning) && performance.now() < end) await delay(pollMs);
  }

  private pids(): number[] {
    return this.roots.filter(isRunning).flatMap(({ pid }) => (pid === undefined ? [] : tree(pid)));
  }
}

/** A port that nobody listens on at this moment, for products that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** The body of an answer, which must be a success. */
export async function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

async function answers(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.ok ? url : undefined;
  } catch {
    return undefined; // Not yet: asked again until the limit.
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function tree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(tree)];
}

function childrenOf(pid: number): number[] {
  return listed(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** With the time of children that have ended; the kernel counts in hundredths of a second. */
function cpuMilliseconds(pid: number): number {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Empty when the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function listed(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (
    lines.findLast((line) => /error|cannot|failed/i.test(line)) ??
    lines.at(-1) ??
    'it printed nothing'
  ).slice(0, 400);
}
