import type { ChildProcess } from 'node:child_process';
import { basename, resolve } from 'node:path';
import { joinOrigins, type Origin } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import {
  createSandbox,
  endAbandonedProcesses,
  type Sandbox,
  type SandboxedProcess,
} from '@trunkline/sandbox';
import { z } from 'zod';
import { type ApprovalSubject, type ApprovedTool, directoryState } from '../approval/approved-tool.ts';
import { commandWords, scriptFiles } from '../approval/script-files.ts';
import { orRefusal } from '../failure.ts';
import { type FileMarks, markChanges, rootOf } from './file-marks.ts';

const LONGEST_OUTPUT = 20_000;
const MAX_PROCESSES = 512;
const MAX_FILE_MB = 2048;

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
  sandbox?: Sandbox;
  /** Gets the files that a command changes for others than the operator, after text from outside, or where it has network. */
  marks?: FileMarks | undefined;
}

let sweep: Promise<void> | undefined;

/** Runs a command once it is approved. What commands of a killed service left behind is ended first, once. */
export function createRunCommand({
  directory,
  path,
  timeoutMs = TIMEOUT_MS,
  sandbox = createSandbox({ mode: 'auto' }),
  marks,
}: RunCommandOptions): ApprovedTool {
  sweep ??= endAbandonedProcesses();
  const tool: Tool = defineTool({
    name: 'run_command',
    effects: ['executes'],
    // What it can fetch, others wrote.
    external: sandbox.commandNetwork !== 'none',
    subject: ({ command }) => ({ command }),
    originsOf: ({ command }, principal) => marks?.readBy(principal, namedIn(command, directory, marks)) ?? [],
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
    approve: (given, { signal, principal }) =>
      orRefusal(async () => {
        const { command } = input.parse(given);
        await sweep;
        const fetched = joinOrigins(
          tool.external ? [{ kind: tool.name, source: '' }] : [],
          tool.originsOf?.({ command }, principal),
        );
        const result = await markChanges({ directory, marks, principal, fetched }, () =>
          runCommand(command, { directory, path, timeoutMs, signal, sandbox }),
        );
        return signal.aborted ? stopped(result) : report(result, timeoutMs);
      }, signal),
  };
}

/** Beyond these nothing is looked up one by one: such a command may read any file. */
const MOST_PATHS = 2000;
const MOST_PLACES = 50;

/**
 * The marks of files that a command names: by path, by name, by a folder around them or by a pattern. A search without a
 * path names the directory that it runs in. What a script reads, or a variable holds, cannot be seen from here.
 */
function namedIn(command: string, directory: string, marks: FileMarks): readonly Origin[] {
  const root = rootOf(directory);
  const marked = marks.below(root);
  const { words, places } = commandWords(command, root);
  const found = new Set<readonly Origin[]>();
  if (places.size > MOST_PLACES || words.size * places.size > MOST_PATHS) {
    for (const { origins } of marked) found.add(origins);
    return joinOrigins(marks.originsOf(`${root}/`), [...found].flat());
  }
  const names = new Set([...words].map((word) => basename(word)));
  const paths = new Set<string>();
  const prefixes = new Set<string>();
  for (const word of words) {
    const [beginning = '', ...rest] = word.split(/[*?[]/);
    for (const place of places) (rest.length > 0 ? prefixes : paths).add(resolve(place, beginning));
  }
  for (const path of [...paths, ...prefixes]) found.add(marks.originsOf(path));
  const lengths = [...new Set([...prefixes].map(({ length }) => length))];
  for (const { path, origins } of marked) {
    const isNamed =
      names.has(basename(path)) ||
      pathsAround(path).some((each) => paths.has(each)) ||
      lengths.some((length) => length <= path.length && prefixes.has(path.slice(0, length)));
    if (isNamed) found.add(origins);
  }
  return joinOrigins([...found].flat());
}

/** A path and the folders around it, without slashes at their ends. */
function pathsAround(path: string): string[] {
  const parts = path.replace(/\/$/, '').split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/') || '/');
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
  sandbox: Sandbox;
}

interface CommandResult {
  /** Undefined when it was stopped. */
  exitCode: number | undefined;
  /** What it wrote, the end of it when there was too much. */
  output: string;
}

/** Runs a shell command. Nothing that it started goes on when it has ended or was stopped, whatever group it went to. */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandResult> {
  const { directory, path, timeoutMs, signal, sandbox } = options;
  signal.throwIfAborted();
  const running = await sandbox.start({
    command: '/bin/sh',
    args: ['-c', command],
    cwd: directory,
    env: { PATH: path, HOME: directory, LANG: 'C.UTF-8' },
    writable: [directory],
    network: sandbox.commandNetwork,
    limits: { memoryMb: sandbox.memoryMb, processes: MAX_PROCESSES, fileMb: MAX_FILE_MB },
  });
  const { child } = running;
  const output = collect(child);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = () => {
    void running.end();
    // Whoever left the group may hold the other ends for ever.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  };
  limit.addEventListener('abort', stop, { once: true });
  if (limit.aborted) stop();
  try {
    const exitCode = await ended(child);
    const text = output();
    const lacksNetwork =
      running.isolated && sandbox.commandNetwork === 'none' && exitCode !== 0 && NETWORK_FAILURE.test(text);
    return {
      exitCode: limit.aborted ? undefined : exitCode,
      output: `${text}${sandboxNotes(running)}${lacksNetwork ? NO_NETWORK : ''}`,
    };
  } finally {
    limit.removeEventListener('abort', stop);
    await running.end();
  }
}

/** As curl, git, pip, npm and the C library put it. */
const NETWORK_FAILURE =
  /could ?n[o']t resolve|name resolution|name or service not known|unable to resolve|network is (unreachable|down)|getaddrinfo|EAI_AGAIN|ENOTFOUND|ENETUNREACH/i;
const NO_NETWORK =
  '\n[commands run in a sandbox without network; TRUNKLINE_SANDBOX_HOSTS lists hosts they may reach]';

/** What the sandbox did to the command, for the model and the operator. */
function sandboxNotes({ exceeded, refusedHosts }: SandboxedProcess): string {
  const limit = exceeded();
  return [
    ...(limit === undefined ? [] : [`\n[stopped by the sandbox: ${limit}]`]),
    ...(refusedHosts.length === 0
      ? []
      : [
          `\n[refused by the sandbox: ${refusedHosts.join(', ')}; the operator can open hosts with TRUNKLINE_SANDBOX_HOSTS]`,
        ]),
  ].join('');
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
