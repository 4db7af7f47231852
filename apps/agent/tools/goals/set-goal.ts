import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { type GoalStore, verifierSchema } from '../../stores/goals/goal-store.ts';
import { orRefusal } from '../refusal.ts';

const input = z.object({
  condition: z.string().trim().min(1).max(4000).describe('What must be true in the end.'),
  verifier: verifierSchema
    .default({ type: 'llm' })
    .describe('How it is checked: a command or test that must succeed, data in a file, or a judging model.'),
});

export interface SetGoalOptions {
  goals: Pick<GoalStore, 'set'>;
  /** Verifiers that run commands are refused when commands are not allowed. */
  allowCommands: boolean;
}

export function createSetGoal({ goals, allowCommands }: SetGoalOptions): Tool {
  return defineTool({
    name: 'set_goal',
    description:
      'Sets what this conversation is to reach. Work goes on until the check succeeds or gives up.',
    input,
    execute: ({ condition, verifier }, { sessionId }) =>
      orRefusal(async () => {
        if ('command' in verifier && !allowCommands)
          return 'Error: commands are not allowed here; use the verifier data or llm.';
        await goals.set(sessionId, condition, verifier);
        return `Goal set, checked by ${verifier.type}: ${condition}`;
      }),
  });
}
