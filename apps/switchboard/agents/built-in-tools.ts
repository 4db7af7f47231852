import type { Tool } from '@trunkline/llm';
import { defineTool } from '@trunkline/llm';
import {
  type ApprovedTool,
  answerApproval,
  approvalText,
  createRunCommand,
  fileTools,
} from '@trunkline/tools';
import { z } from 'zod';
import type { SkillContext } from '../dispatch/executor.ts';
import { askLimitMs } from '../human/ask-human.ts';
import type { HumanInput } from '../human/human-input.ts';

export interface BuiltInSettings {
  /** The one directory that agents may touch. */
  directory: string;
  shell: 'ask' | 'on' | 'off';
  /** Where commands find programs. */
  path: string;
}

/** The agent at work, and for what. */
interface Work {
  agent: string;
  correlationId: string;
  /** The operator has turned commands on in the file of the agent. */
  mayRunCommands: boolean;
}

const commandTimeoutMs = 120_000;

/** Files and search in files, all in one directory: what every agent with tools has beside its whitelist; and commands there, for agents whose file says so. */
export function builtInTools(
  { directory, shell, path }: BuiltInSettings,
  humanInput: HumanInput,
  work: Work,
  context: SkillContext,
): Tool[] {
  const files = fileTools(directory);
  if (shell === 'off' || !work.mayRunCommands) return files;
  const command = createRunCommand({ directory, path, timeoutMs: commandTimeoutMs });
  return [...files, shell === 'on' ? runs(command) : asksFirst(command, humanInput, work, context)];
}

const input = z.object({ command: z.string().min(1).max(4000).describe('A shell command.') });

function runs({ subject, approve }: ApprovedTool): Tool {
  return defineTool({
    name: 'run_command',
    description: 'Runs a shell command in the directory of the file tools.',
    input,
    timeoutMs: commandTimeoutMs + 5000,
    async execute(given, context) {
      const approved = await subject(given);
      return approved === undefined
        ? 'Error: there is no command.'
        : approve(given, { ...context, subject: approved });
    },
  }) as Tool;
}

/** Waits for an approval, which is good for one run of this very command. */
function asksFirst(
  command: ApprovedTool,
  humanInput: HumanInput,
  { agent, correlationId }: Work,
  { tell }: SkillContext,
): Tool {
  return defineTool({
    name: 'run_command',
    description:
      'Runs a shell command in the directory of the file tools, after the operator has approved it.',
    input,
    timeoutMs: askLimitMs + commandTimeoutMs + 5000,
    async execute(given, call) {
      const subject = await command.subject(given);
      if (subject === undefined) return 'Error: there is no command.';
      const { signal } = call;
      const question = `${agent}: ${approvalText(subject)}\nAnswer yes or no.`;
      tell({ type: 'input-start', question });
      const answer = await humanInput.askApproval(correlationId, question, askLimitMs, signal);
      tell({ type: 'input-end', answered: answer !== undefined });
      if (answer === undefined)
        return 'Error: nobody has approved the command yet. Say what is still open and end.';
      return answerApproval(command, given, answer, { ...call, subject });
    },
  }) as Tool;
}
