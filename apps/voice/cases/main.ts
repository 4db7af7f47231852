// Runs the synthetic callers: `npm run voice:cases`, or those whose name holds the words given.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

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
child.on('exit', (code) => process.exit(code ?? 1));
