// Runs in a process of its own, and does what native code may do to it.
import { spawnSync } from 'node:child_process';
import { serveParser } from './parser-thread.ts';

serveParser((task: 'crash' | 'hang' | 'tell') => {
  if (task === 'crash') process.kill(process.pid, 'SIGKILL');
  while (task === 'hang');
  const { stdout } = spawnSync('/usr/bin/env', { encoding: 'utf8' });
  return { pid: process.pid, variables: stdout };
});
