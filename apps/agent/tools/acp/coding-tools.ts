import { defineTool, type ToolContext } from '@trunkline/llm';
import { type ApprovedTool, type FileMarks, markChanges, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { codingAgentsOf, giveTask } from '../delegation-tools.ts';
import { defineToolModule } from '../tool-module.ts';
import type { CodingAgent } from './run-agent.ts';

export const codingTools = defineToolModule({
  name: 'coding',
  tools({ config, workspace, env, sandbox, fileMarks }) {
    const agents = codingAgentsOf(config, { workspace, env, sandbox });
    if (agents.length === 0) return [];
    const { tool, approved } = createCodeWith(agents, fileMarks);
    return [tool, approved].filter((each) => each !== undefined);
  },
});

/** Gives a task to a coding agent. When one of the agents is to be confirmed, each task is approved first. */
export function createCodeWith(agents: readonly CodingAgent[], marks?: FileMarks) {
  const [first, ...others] = agents.map(({ name }) => name);
  if (first === undefined) throw new TypeError('code_with needs at least one agent');
  const input = z.object({ agent: z.enum([first, ...others]), task: z.string().min(1).max(50_000) });
  const head = {
    name: 'code_with',
    effects: ['executes'] as const,
    external: true,
    subject: ({ agent, task }: z.output<typeof input>) => ({ recipient: agent, command: task }),
    description: `Gives a coding task to an agent that works in its own directory: ${[first, ...others].join(', ')}.`,
    input,
  };
  const run = (given: z.output<typeof input>, { signal, principal }: ToolContext) =>
    orRefusal(async () => {
      const agent = agents.find(({ name }) => name === given.agent);
      if (agent === undefined) return `Error: there is no agent ${given.agent}.`;
      const { directory } = agent;
      return await markChanges({ directory, marks, principal }, () => giveTask(agent, given.task, signal));
    }, signal);
  if (!agents.some(({ confirm }) => confirm)) {
    const timeoutMs = Math.max(...agents.map((agent) => agent.timeoutMs)) + 10_000;
    return { tool: defineTool({ ...head, timeoutMs, execute: run }) };
  }
  const approved: ApprovedTool = {
    tool: defineTool({ ...head, pause: true }),
    async subject(given) {
      const { agent, task } = input.parse(given);
      const { directory = '' } = agents.find(({ name }) => name === agent) ?? {};
      return { title: `May I give this task to ${agent}?`, noun: 'task', text: task, directory, files: [] };
    },
    approve: (given, context) => run(input.parse(given), context),
  };
  return { approved };
}
