import { type ChildProcess, spawn } from 'node:child_process';
import { endGroup, markProcesses } from './marked-processes.ts';

export interface CommandOptions {
  directory: string;
  /** Where programs are looked for. Nothing else of the environment is handed on. */
  path: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface CommandResult {
  /** Undefined when it was stopped. */
  exitCode: number | undefined;
  /** What it wrote, the end of it when there was too much. */
  output: string;
}

const LONGEST_OUTPUT = 20_000;

/** Runs a shell command. Nothing that it started goes on when it has ended or was stopped, whatever group it went to. */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandResult> {
  const { directory, path, timeoutMs, signal } = options;
  const processes = markProcesses();
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: directory,
    env: { PATH: path, HOME: directory, LANG: 'C.UTF-8', ...processes.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = collect(child);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = () => {
    endGroup(child.pid);
    // Whoever left the group may hold the other ends for ever.
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  };
  limit.addEventListener('abort', stop, { once: true });
  if (limit.aborted) stop();
  try {
    const exitCode = await ended(child);
    return { exitCode: limit.aborted ? undefined : exitCode, output: output() };
  } finally {
    limit.removeEventListener('abort', stop);
    await processes.end(child.pid);
  }
}

function collect(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = `${text}${chunk}`.slice(-LONGEST_OUTPUT * 2);
    });
  }
  return () => (text.length > LONGEST_OUTPUT ? `…${text.slice(-LONGEST_OUTPUT)}` : text);
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
}
