// Runs in a process of its own, and does what native code may do to it.
import { spawnSync } from 'node:child_process';
import { serveParser } from './parser-thread.ts';

serveParser((task: 'crash' | 'hang' | 'sleep' | 'rest' | 'tell') => {
  if (task === 'crash') process.kill(process.pid, 'SIGKILL');
  while (task === 'hang');
  if (task === 'sleep') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (task === 'rest') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  const { stdout } = spawnSync('/usr/bin/env', { encoding: 'utf8' });
  return { pid: process.pid, variables: stdout };
});
