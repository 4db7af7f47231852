// Runs every benchmark, or those named on the command line, and prints one table of ours beside the peers.
import type { BenchResult } from './result.ts';

const benches: Record<string, () => Promise<{ run(): Promise<BenchResult[]> }>> = {
  start: () => import('./start.ts'),
  schedule: () => import('./schedule.ts'),
  schedules: () => import('./schedules.ts'),
  bus: () => import('./bus.ts'),
  switchboard: () => import('./switchboard.ts'),
  a2a: () => import('./a2a.ts'),
  agent: () => import('./agent.ts'),
  memory: () => import('./memory.ts'),
  research: () => import('./research.ts'),
  'voice-turn': () => import('./voice-turn.ts'),
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
for (const name of names) {
  console.error(`${name} ...`);
  const bench = await benches[name]?.();
  for (const result of (await bench?.run()) ?? []) rows.push(describe(name, result));
}
print(rows);

function describe(bench: string, result: BenchResult): string[] {
  const peers = Object.entries(result.peers).map(([name, value]) => `${name} ${figure(value)}`);
  const ratio = result.ratio > 0 ? `${figure(result.ratio)} (${result.better} is better)` : '';
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
