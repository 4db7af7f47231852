import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { SkillContext } from '../dispatch/executor.ts';
import type { HumanInput } from './human-input.ts';

/** How long an agent waits for a person at a stretch. */
export const askLimitMs = 110_000;

/** Lets an agent ask a person in the middle of its work. */
export function createAskHuman(humanInput: HumanInput, correlationId: string, { tell }: SkillContext): Tool {
  return defineTool({
    name: 'ask_human',
    description: 'Asks a person a question and gives the answer. Use it only when you cannot go on without.',
    input: z.object({ question: z.string().min(1) }),
    timeoutMs: askLimitMs + 5000,
    async execute({ question }, { signal }) {
      tell({ type: 'input-start', question });
      const answer = await humanInput.ask(correlationId, question, askLimitMs, signal);
      tell({ type: 'input-end', answered: answer !== undefined });
      return answer ?? 'Nobody has answered yet. Say what is still open and end.';
    },
  }) as Tool;
}
