import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { type ApprovalSubject, type ApprovedTool, directoryState } from '../approval/approved-tool.ts';
import { scriptFiles } from '../approval/script-files.ts';
import { orRefusal } from '../failure.ts';

const VARIABLE = 'TRUNKLINE_COMMAND';

// A process that was found may have started another since.
const MOST_ROUNDS = 100;

const LONGEST_OUTPUT = 20_000;

const input = z.object({
  command: z
    .string()
    .min(1)
    .max(4000)
    .describe(
      'A shell command; it runs in the workspace after the operator has approved it. Nothing it starts outlives it.',
    ),
});

const TIMEOUT_MS = 120_000;

export interface RunCommandOptions {
  directory: string;
  /** Where programs are looked for. */
  path: string;
  timeoutMs?: number;
}

let sweep: Promise<void> | undefined;

/** Runs a command once it is approved. What commands of a killed service left behind is ended first, once. */
export function createRunCommand({
  directory,
  path,
  timeoutMs = TIMEOUT_MS,
}: RunCommandOptions): ApprovedTool {
  sweep ??= endAbandonedProcesses();
  const tool: Tool = defineTool({
    name: 'run_command',
    effects: ['executes'],
    subject: ({ command }) => ({ command }),
    description: 'Runs a shell command in the workspace, after the operator has approved it.',
    input,
    pause: true,
  });
  return {
    tool,
    subject: async (given) => ({
      ...(await commandSubject('May I run this command?', input.parse(given).command, directory)),
      directoryState: await directoryState(directory),
    }),
    approve: (given, { signal }) =>
      orRefusal(async () => {
        const { command } = input.parse(given);
        await sweep;
        const result = await runCommand(command, { directory, path, timeoutMs, signal });
        return signal.aborted ? stopped(result) : report(result, timeoutMs);
      }, signal),
  };
}

/** What the approval of a shell command is for. */
export async function commandSubject(
  title: string,
  command: string,
  directory: string,
): Promise<ApprovalSubject> {
  return { title, noun: 'command', text: command, directory, files: await scriptFiles(command, directory) };
}

function stopped({ output }: CommandResult): string {
  return `Error: the command was stopped with the task.\n${output}`;
}

function report({ exitCode, output }: CommandResult, timeoutMs: number): string {
  if (exitCode === undefined)
    return `Error: the command took longer than ${timeoutMs / 1000} s and was stopped.\n${output}`;
  return exitCode === 0 ? output || '(no output)' : `Error: exit code ${exitCode}\n${output}`;
}

interface CommandOptions {
  directory: string;
  /** Where programs are looked for. Nothing else of the environment is handed on. */
  path: string;
  timeoutMs: number;
  signal: AbortSignal;
}

interface CommandResult {
  /** Undefined when it was stopped. */
  exitCode: number | undefined;
  /** What it wrote, the end of it when there was too much. */
  output: string;
}

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
    // A process that left the group may hold the other ends open without end.
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

/** What one command starts: every process inherits the mark, also one that leaves the group or loses its parent. */
interface MarkedProcesses {
  /** To be set for the first process. */
  environment: Record<string, string>;
  /** Ends the group of the first process and all that carry the mark. */
  end(first: number | undefined): Promise<void>;
}

export function markProcesses(): MarkedProcesses {
  const mark = `${ownerOf('self')}.${crypto.randomUUID()}`;
  return {
    environment: { [VARIABLE]: mark },
    async end(first) {
      endGroup(first);
      await endAll((found) => found === mark);
    },
  };
}

/** Ends what is left of the commands of a service that was killed and could not end them itself. */
export async function endAbandonedProcesses(): Promise<void> {
  const own = markOf('self');
  await endAll((mark) => mark !== own && !isOwned(mark));
}

/** Ends a process that leads a group, and its group. */
function endGroup(first: number | undefined): void {
  if (first !== undefined) kill(-first);
}

async function endAll(isWanted: (mark: string) => boolean): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const found = await findMarked(isWanted);
    if (found.length === 0) return;
    for (const pid of found) {
      // The number may belong to another process by now.
      const mark = markOf(pid);
      if (mark !== undefined && isWanted(mark)) kill(Number(pid));
    }
  }
}

/** Only Linux shows what others carry; elsewhere the group is all that can be ended. */
async function findMarked(isWanted: (mark: string) => boolean): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const mark = markIn(await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''));
      return mark !== undefined && isWanted(mark) ? [pid] : [];
    }),
  );
  return found.flat();
}

function markOf(pid: string): string | undefined {
  return markIn(readOrNothing(() => readFileSync(`/proc/${pid}/environ`, 'latin1')));
}

function markIn(environment: string): string | undefined {
  const start = `${VARIABLE}=`;
  return environment
    .split('\0')
    .find((variable) => variable.startsWith(start))
    ?.slice(start.length);
}

/** A service by its number, the moment it started and the space in which numbers are given. */
function ownerOf(pid: string): string {
  const stat = readOrNothing(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // A zombie stays listed until its parent reaps it.
  const [, number = 0, rest = ''] = /^(\d+) \(.*\) ([^ZX] .*)/s.exec(stat) ?? [];
  return `${number}.${rest.split(' ')[19] ?? 0}.${ownSpace()}`;
}

/** Whether the service that set the mark runs. In another PID namespace that is unknown and counts as running. */
function isOwned(mark: string): boolean {
  const [pid = '', started, space] = mark.split('.');
  return space !== ownSpace() || ownerOf(pid) === `${pid}.${started}.${space}`;
}

function ownSpace(): string {
  return readOrNothing(() => readlinkSync('/proc/self/ns/pid')).replace(/\D/g, '');
}

/** Processes end while they are looked at, and those of other users cannot be read. */
function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** What cannot be ended has ended already, or belongs to another user. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
