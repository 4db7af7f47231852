import { type ChildProcess, spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { readVariable } from '@trunkline/config';
import { markProcesses } from '@trunkline/tools';

export interface AgentCommand {
  command: string;
  args: readonly string[];
  directory: string;
  env: Readonly<Record<string, string>>;
}

export interface AgentProcess {
  stream: Stream;
  /** Resolves with the reason when the process ends or cannot be started. */
  ended: Promise<string>;
  /** Stops the process and all it has started. */
  stop(): Promise<void>;
}

const HANDED_ON = ['PATH', 'HOME', 'LANG', 'TERM', 'USER'];
const MAX_COMPLAINT_LENGTH = 500;

/** Starts an agent that speaks ACP over its standard streams, in a process group of its own. */
export function startAgentProcess({ command, args, directory, env }: AgentCommand): AgentProcess {
  const processes = markProcesses();
  const child = spawn(command, [...args], {
    cwd: directory,
    env: { ...inherited(), ...env, ...processes.environment },
    stdio: 'pipe',
    detached: true,
  });
  child.stdin.on('error', () => child.stdout.destroy());
  const complaint = lastWords(child);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`it cannot be started: ${error.message}`));
    child.once('close', (code, signal) =>
      resolve(`it ended with ${signal ?? `exit code ${code}`}${complaint()}`),
    );
  });
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  return { stream, ended, stop: () => processes.end(child.pid) };
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    HANDED_ON.flatMap((name) => {
      const value = readVariable(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function lastWords(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = `${text}${chunk}`.slice(-MAX_COMPLAINT_LENGTH);
  });
  return () => (text.trim() === '' ? '' : `: ${text.trim()}`);
}
