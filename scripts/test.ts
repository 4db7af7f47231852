// Runs every test, or those named on the command line; sees first to what they need; ends with "N passed, N failed".
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Counts } from './test/counts-reporter.ts';
import { ensureTools } from './test/tools.ts';

const missing = ensureTools();
const scratch = await mkdtemp(join(tmpdir(), 'trunkline-test-'));
const countsFile = join(scratch, 'counts.json');
const exitCode = await runVitest(process.argv.slice(2));
report(readCounts());
await rm(scratch, { recursive: true, force: true });
process.exit(exitCode);

function runVitest(args: string[]): Promise<number> {
  const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
  const reporters = [
    '--reporter=default',
    `--reporter=${join(import.meta.dirname, 'test/counts-reporter.ts')}`,
  ];
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
    stdio: 'inherit',
    env: { ...process.env, TRUNKLINE_TEST_COUNTS: countsFile },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

// A runner that died before it could count is one failure.
function readCounts(): Counts {
  try {
    return JSON.parse(readFileSync(countsFile, 'utf8')) as Counts;
  } catch {
    return { passed: 0, failed: 1, skipped: [] };
  }
}

function report({ passed, failed, skipped }: Counts): void {
  for (const tool of missing) console.log(`Not on this machine: ${tool.name}. ${tool.hint}`);
  for (const title of skipped) console.log(`Skipped: ${title}`);
  console.log(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
}
