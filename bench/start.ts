// How long all four services take to start, and what they weigh, beside four empty node:http servers.
import { spawn } from 'node:child_process';
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
  await start([join(root, 'bin/trunkline.js'), 'up'], env, 'Ctrl-C stops everything');
  const ours = await best(() =>
    start([join(root, 'bin/trunkline.js'), 'up'], env, 'Ctrl-C stops everything'),
  );
  const bare = await best(() => start([join(import.meta.dirname, 'start/bare-servers.ts')], env, 'ready'));
  rmSync(home, { recursive: true, force: true });
  return [
    compare('start of all four services', 's', ours.seconds, bare.seconds, 'under 1.5 s'),
    compare('memory after start', 'MB', ours.megabytes, bare.megabytes, 'under 200 MB'),
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

// The quickest of some runs: whatever else the machine does only adds.
async function best(measure: () => Promise<Start>): Promise<Start> {
  const starts: Start[] = [];
  for (let index = 0; index < RUNS; index += 1) starts.push(await measure());
  return {
    seconds: Math.min(...starts.map(({ seconds }) => seconds)),
    megabytes: Math.min(...starts.map(({ megabytes }) => megabytes)),
  };
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
