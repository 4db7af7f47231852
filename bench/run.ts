// Runs every benchmark, or those named on the command line, prints one table of ours beside the peers and writes results.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';

const benches: Record<string, () => Promise<{ run(): Promise<BenchResult[]> }>> = {
  start: () => import('./start.ts'),
  growth: () => import('./growth.ts'),
  schedule: () => import('./schedule.ts'),
  schedules: () => import('./schedules.ts'),
  bus: () => import('./bus.ts'),
  switchboard: () => import('./switchboard.ts'),
  a2a: () => import('./a2a.ts'),
  agent: () => import('./agent.ts'),
  memory: () => import('./memory.ts'),
  trust: () => import('./trust.ts'),
  research: () => import('./research.ts'),
  'voice-heard': () => import('./voice-heard.ts'),
  'voice-turn': () => import('./voice-turn.ts'),
  'voice-callers': () => import('./voice-callers.ts'),
  'voice-turns': () => import('./voice-turns.ts'),
  'voice-media': () => import('./voice-media.ts'),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(
    `No benchmark is called ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`,
  );
  process.exit(2);
}
const names = Object.keys(benches).filter((name) => wanted.length === 0 || wanted.includes(name));
const rows: string[][] = [['measurement', 'unit', 'ours', 'peers', 'ours / best peer', 'goal']];
const measured: Record<string, Measured> = {};
const failures: string[] = [];
for (const name of names) await measure(name);
print(rows);
keep(measured);
for (const words of failures) console.error(words);
process.exit(failures.length > 0 ? 1 : 0);

/** One that fails leaves the others alone. */
async function measure(name: string): Promise<void> {
  console.error(`${name} ...`);
  try {
    const bench = await benches[name]?.();
    const results = (await bench?.run()) ?? [];
    for (const result of results) rows.push(describe(name, result));
    measured[name] = { at: new Date().toISOString(), machine: machine(), results };
  } catch (error) {
    failures.push(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Measured {
  at: string;
  machine: string;
  results: BenchResult[];
}

function machine(): string {
  const [first] = cpus();
  return `${cpus().length} x ${first?.model.trim() ?? 'unknown'}, ${process.platform} ${release()}, Node ${process.versions.node}`;
}

/** Beside what was measured before by the other benchmarks. */
function keep(results: Record<string, Measured>): void {
  const file = join(import.meta.dirname, 'results.json');
  const known = read(file);
  writeFileSync(file, `${JSON.stringify({ ...known, ...results }, null, 2)}\n`);
}

function read(file: string): Record<string, Measured> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Measured>;
  } catch {
    return {};
  }
}

function describe(bench: string, result: BenchResult): string[] {
  const peers = Object.entries(result.peers).map(([name, value]) => `${name} ${figure(value)}`);
  const spread = result.spread ? `${result.spread.map(figure).join(' to ')}, ` : '';
  const ratio = result.ratio > 0 ? `${figure(result.ratio)} (${spread}${result.better} is better)` : '';
  return [
    `${bench}: ${result.name}`,
    result.unit,
    figure(result.ours),
    peers.join(', '),
    ratio,
    result.goal ?? '',
  ];
}

function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return Number(value.toPrecision(3)).toString();
}

function print(table: string[][]): void {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}
