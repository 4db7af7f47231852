// How long all four services, and one alone, take to start, and what they weigh, beside four empty node:http servers.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';

const RUNS = 5;
const root = join(import.meta.dirname, '..');
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };

interface Start {
  seconds: number;
  megabytes: number;
}

export async function run(): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const env = { ...process.env, ...ports, TRUNKLINE_HOME: home, LOG_LEVEL: 'ERROR' };
  const launcher = join(root, 'bin/trunkline.js');
  // As after "npm ci".
  execFileSync(process.execPath, [join(root, 'packages/ui/build/main.ts')], { stdio: 'ignore' });
  let firsts = 0;
  const contestants = {
    // Nothing is there but what "npm ci" left: no home, nothing compiled.
    first: () => {
      firsts += 1;
      const fresh = {
        TRUNKLINE_HOME: join(home, `first-${firsts}`),
        NODE_COMPILE_CACHE: join(home, `cache-${firsts}`),
      };
      return start([launcher, 'up'], { ...env, ...fresh }, 'Ctrl-C stops everything');
    },
    all: () => start([launcher, 'up'], env, 'Ctrl-C stops everything'),
    one: () => start([launcher, 'switchboard'], env, 'http://'),
    bare: () => start([join(import.meta.dirname, 'start/bare-servers.ts')], env, 'ready'),
  };
  await contestants.all();
  await contestants.one();
  const { first, all, one, bare } = await best(contestants);
  rmSync(home, { recursive: true, force: true });
  return [
    compare('first start after "npm ci", all four services', 's', first.seconds, bare.seconds, 'under 3 s'),
    compare('start of all four services', 's', all.seconds, bare.seconds, 'under 0.7 s'),
    compare('memory after start', 'MB', all.megabytes, bare.megabytes, 'under 170 MB'),
    compare('start of one service (switchboard)', 's', one.seconds, bare.seconds, 'under 0.45 s'),
    compare('memory of one service', 'MB', one.megabytes, bare.megabytes, 'under 120 MB'),
  ];
}

function compare(name: string, unit: string, ours: number, bare: number, goal: string): BenchResult {
  return {
    name,
    unit,
    ours,
    peers: { 'four empty node:http servers': bare },
    ratio: ours / bare,
    better: 'lower',
    goal,
  };
}

/** By turns, and the quickest of some runs: whatever else the machine does only adds. */
async function best<Name extends string>(
  contestants: Record<Name, () => Promise<Start>>,
): Promise<Record<Name, Start>> {
  const found = {} as Record<Name, Start>;
  const names = Object.keys(contestants) as Name[];
  for (let index = 0; index < RUNS; index += 1)
    for (const name of names) {
      const { seconds, megabytes } = await contestants[name]();
      const { seconds: fewest = seconds, megabytes: least = megabytes } = found[name] ?? {};
      found[name] = { seconds: Math.min(seconds, fewest), megabytes: Math.min(megabytes, least) };
    }
  return found;
}

function start(args: string[], env: NodeJS.ProcessEnv, sign: string): Promise<Start> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let output = '';
    let measured: Start | undefined;
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
      if (measured || !output.includes(sign)) return;
      measured = {
        seconds: (performance.now() - began) / 1000,
        megabytes: residentMegabytes(child.pid ?? 0),
      };
      child.kill('SIGTERM');
    });
    child.on('exit', () => {
      if (measured) resolve(measured);
      else reject(new Error(`${args.join(' ')} ended before it said "${sign}": ${output}`));
    });
  });
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

if (import.meta.main) console.table(await run());
