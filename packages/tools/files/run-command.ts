import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { ApprovalSubject, ApprovedTool } from '../approval/approved-tool.ts';
import { directoryState } from '../approval/directory-state.ts';
import { scriptFiles } from '../approval/script-files.ts';
import { orRefusal } from '../refusal.ts';
import { type CommandResult, runCommand } from './command.ts';
import { endAbandonedProcesses } from './marked-processes.ts';

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
