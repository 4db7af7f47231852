import type { Principal } from '@trunkline/identity';
import { defineTool, type RunningTool, type Tool } from '@trunkline/llm';
import { type ApprovedTool, commandSubject, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { type GoalStore, verifierSchema } from '../stores/goals/goal-store.ts';
import { defineToolModule } from './tool-module.ts';
import { runsCommands } from './workspace-tools.ts';

export const goalTools = defineToolModule({
  name: 'goals',
  tools({ stores: { goals }, config, workspace, actor }) {
    if (goals === undefined) return [];
    const goalsOf: SetGoalOptions['goalsOf'] = (principal) => goals.for(actor(principal));
    return [createSetGoal({ goalsOf, commandDirectory: runsCommands(config) ? workspace : undefined })];
  },
});

const input = z.object({
  condition: z.string().trim().min(1).max(4000).describe('What must be true in the end.'),
  verifier: verifierSchema
    .default({ type: 'llm' })
    .describe(
      'How it is checked: a command or test that must succeed (the operator approves it first), data in a file, or a judging model.',
    ),
});

export interface SetGoalOptions {
  goalsOf(principal: Principal | undefined): Pick<GoalStore, 'set'>;
  /** Where checks by command run; undefined while commands are off. */
  commandDirectory: string | undefined;
}

const commandsAreOff =
  'Error: commands are off. Use the verifier data or llm; the operator turns commands on with filesystem.run_command in the configuration.';
const nobodyToAsk =
  'Error: a check by command needs the approval of the operator, and nobody can be asked here. Use the verifier data or llm.';

/** A goal whose check runs a command waits for an approval of that command; any other is set at once. */
export function createSetGoal({ goalsOf, commandDirectory }: SetGoalOptions): ApprovedTool {
  const tool: RunningTool<z.output<typeof input>> = defineTool({
    name: 'set_goal',
    effects: ['writes'],
    description:
      'Sets what this conversation is to reach. Work goes on until the check succeeds or gives up.',
    input,
    pausesFor: ({ verifier }) => 'command' in verifier && commandDirectory !== undefined,
    execute: async ({ condition, verifier }, { sessionId, principal }) => {
      if ('command' in verifier) return commandDirectory === undefined ? commandsAreOff : nobodyToAsk;
      await goalsOf(principal).set(sessionId, condition, verifier);
      return `Goal set, checked by ${verifier.type}: ${condition}`;
    },
  });
  return {
    tool: tool as Tool,
    async subject(given) {
      const { verifier } = input.parse(given);
      if (!('command' in verifier) || commandDirectory === undefined) return undefined;
      const title = 'May I check a goal with this command, as often as it takes?';
      return await commandSubject(title, verifier.command, commandDirectory);
    },
    approve: (given, { sessionId, principal, subject: { directory, files } }) =>
      orRefusal(async () => {
        const { condition, verifier } = input.parse(given);
        await goalsOf(principal).set(sessionId, condition, verifier, { directory, files: [...files] });
        return `Goal set, checked by ${verifier.type}: ${condition}`;
      }),
  };
}
