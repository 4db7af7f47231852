// Runs the synthetic callers: `npm run voice:cases`, or those whose name holds the words given. Recordings of people and
// spoken forms come last.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { playRecordedCases } from './harness/recorded-cases.suite.ts';
import { playSpokenForms } from './harness/spoken-forms.suite.ts';

const root = join(import.meta.dirname, '../../..');
const names = process.argv.slice(2);
const filter = names.length === 0 ? [] : ['-t', names.map((name) => `${name}.*:`).join('|')];
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const child = spawn(
  process.execPath,
  [vitest, 'run', 'apps/voice/cases', '--reporter=verbose', '--hideSkippedTests', ...filter],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
const [code] = await once(child, 'exit');
const print = (line: string) => void process.stdout.write(`${line}\n`);
const failed = (await playRecordedCases(names, print)) + (await playSpokenForms(names, print));
process.exit(code === 0 && failed === 0 ? 0 : 1);
