import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { HANGS_MS, waitFor } from './wait.ts';

export interface ChildOptions {
  arguments?: string[];
  /** Variables set on top of this process's own. */
  environment?: Record<string, string>;
  directory?: string;
  /** Flags for Node itself. */
  nodeFlags?: string[];
}

export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Child {
  pid: number;
  /** All that the child wrote so far to stdout and stderr, in order of arrival. */
  output(): string;
  /** Resolves with the first line that holds the text or matches the pattern; fails when the child ends without it. */
  waitForLine(pattern: string | RegExp, timeoutMs?: number): Promise<string>;
  write(text: string): void;
  /** Sends a signal, SIGKILL when none is named, and waits until the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<ChildExit>;
  exited: Promise<ChildExit>;
}

/** Runs a TypeScript or JavaScript file in a Node process of its own. */
export function startChild(script: string | URL, options: ChildOptions = {}): Child {
  const path = typeof script === 'string' ? script : fileURLToPath(script);
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), path, ...(options.arguments ?? [])], {
    cwd: options.directory,
    env: { ...process.env, ...options.environment },
    stdio: 'pipe',
  });
  const output = collectOutput(child);
  const exited = exitOf(child);
  return {
    pid: child.pid ?? -1,
    output,
    exited,
    waitForLine: (pattern, timeoutMs = HANGS_MS) => waitForLine(child, output, pattern, timeoutMs),
    write: (text) => void child.stdin.write(text),
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      return await exited;
    },
  };
}

function collectOutput(child: ChildProcess): () => string {
  let collected = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      collected += text;
    });
  }
  return () => collected;
}

function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

async function waitForLine(
  child: ChildProcess,
  output: () => string,
  pattern: string | RegExp,
  timeoutMs: number,
): Promise<string> {
  const found = await waitFor(() => lineMatching(output(), pattern) ?? endOf(child), { timeoutMs }).catch(
    (cause: unknown) => {
      throw new Error(`No line with ${pattern} within ${timeoutMs} ms; the child wrote:\n${output()}`, {
        cause,
      });
    },
  );
  // What came with the end of the process may hold the line.
  const line = typeof found === 'string' ? found : lineMatching(output(), pattern);
  if (line === undefined)
    throw new Error(`The child ended without a line with ${pattern}; it wrote:\n${output()}`);
  return line;
}

function endOf(child: ChildProcess): { ended: true } | undefined {
  const streamsEnded = child.stdout?.closed && child.stderr?.closed;
  return streamsEnded && (child.exitCode !== null || child.signalCode !== null) ? { ended: true } : undefined;
}

function lineMatching(output: string, pattern: string | RegExp): string | undefined {
  const complete = output.split('\n').slice(0, -1);
  return complete.find((line) => (typeof pattern === 'string' ? line.includes(pattern) : pattern.test(line)));
}
