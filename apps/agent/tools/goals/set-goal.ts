import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { type GoalStore, verifierSchema } from '../../stores/goals/goal-store.ts';

const input = z.object({
  condition: z.string().trim().min(1).max(4000).describe('What must be true in the end.'),
  verifier: verifierSchema
    .default({ type: 'llm' })
    .describe('How it is checked: a command or test that must succeed, data in a file, or a judging model.'),
});

export interface SetGoalOptions {
  goals: Pick<GoalStore, 'set'>;
  /** Whether a person has approved the command: a check runs it again and again without asking. */
  isApproved(command: string): boolean;
}

export function createSetGoal({ goals, isApproved }: SetGoalOptions): Tool {
  return defineTool({
    name: 'set_goal',
    description:
      'Sets what this conversation is to reach. Work goes on until the check succeeds or gives up.',
    input,
    execute: ({ condition, verifier }, { sessionId }) =>
      orRefusal(async () => {
        if ('command' in verifier && !isApproved(verifier.command))
          return 'Error: nobody has approved this command; run it once with run_command first, or use the verifier data or llm.';
        await goals.set(sessionId, condition, verifier);
        return `Goal set, checked by ${verifier.type}: ${condition}`;
      }),
  });
}
