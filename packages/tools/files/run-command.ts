import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { ApprovedTool } from '../approved-tool.ts';
import { orRefusal } from '../refusal.ts';
import { type CommandResult, runCommand } from './command.ts';
import { endAbandonedProcesses } from './marked-processes.ts';

const input = z.object({
  command: z
    .string()
    .min(1)
    .max(4000)
    .describe(
      'A shell command; it runs in the workspace after a person has approved it. Nothing it starts outlives it.',
    ),
});

const TIMEOUT_MS = 120_000;
const MOST_REMEMBERED = 1000;

export interface RunCommandOptions {
  directory: string;
  /** Where programs are looked for. */
  path: string;
  timeoutMs?: number;
}

let sweep: Promise<void> | undefined;

/** Pauses for a person's yes, then runs. What commands of a killed service left behind is ended first, once. */
export function createRunCommand({
  directory,
  path,
  timeoutMs = TIMEOUT_MS,
}: RunCommandOptions): ApprovedTool {
  sweep ??= endAbandonedProcesses();
  const approved = new Set<string>();
  const tool: Tool = defineTool({
    name: 'run_command',
    description: 'Runs a shell command in the workspace, after a person has approved it.',
    input,
    pause: true,
  });
  return {
    tool,
    question: (given) =>
      `May I run this command in the workspace? Answer yes or no.\n${input.parse(given).command}`,
    approve: (given, signal) =>
      orRefusal(async () => {
        const { command } = input.parse(given);
        if (approved.size < MOST_REMEMBERED) approved.add(command);
        await sweep;
        const result = await runCommand(command, { directory, path, timeoutMs, signal });
        return signal.aborted ? stopped(result) : report(result, timeoutMs);
      }, signal),
    wasApproved: (given) => approved.has(input.parse(given).command),
  };
}

function stopped({ output }: CommandResult): string {
  return `Error: the command was stopped with the task.\n${output}`;
}

function report({ exitCode, output }: CommandResult, timeoutMs: number): string {
  if (exitCode === undefined)
    return `Error: the command took longer than ${timeoutMs / 1000} s and was stopped.\n${output}`;
  return exitCode === 0 ? output || '(no output)' : `Error: exit code ${exitCode}\n${output}`;
}
