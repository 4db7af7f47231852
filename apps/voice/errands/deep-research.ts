import { defineTool, type Tool } from '@trunkline/llm';
import { runTurn } from '@trunkline/loop';
import { z } from 'zod';
import type { Model } from '../turn/model-settings.ts';
import type { Errand } from './errand-store.ts';
import type { Errands } from './errands.ts';

const limits = { steps: 12, toolTimeoutMs: 60_000, turnTimeoutMs: 600_000 };
const instructions = `You research a question on behalf of someone who will hear your answer read aloud.
Use the tools to find out, then answer in at most five plain spoken sentences and name your best source.
If nothing can be found, say so in one sentence.`;

const input = z.object({ query: z.string().min(1).describe('What to find out, as a full question.') });

/** Sends the assistant off to find something out; the answer is told later. */
export function createDeepResearch(errands: Errands, userId: string): Tool {
  return defineTool({
    name: 'deep_research',
    description:
      'Starts thorough research that takes minutes. It returns at once; the user is told the answer when it is ready. Use it for questions that need several sources.',
    input,
    async execute({ query }, { principal }) {
      return errands.begin(userId, query, principal)
        ? 'The research has begun. Tell the user that you will come back with the answer, and go on with the conversation.'
        : 'Error: too much research is under way already; try again when some of it is done.';
    },
  });
}

/** One piece of research, from the question to words that can be spoken. */
export function createResearcher(model: () => Model, tools: readonly Tool[]) {
  return async ({ query, principal }: Errand, signal: AbortSignal): Promise<string> => {
    const messages = [{ role: 'user' as const, content: query }];
    const shared = { instructions, tools, limits, sessionId: 'research' };
    const turn = { ...shared, model: model(), messages, principal, signal };
    for await (const event of runTurn(turn)) {
      if (event.type === 'end') return event.text;
      if (event.type === 'error') throw new Error(event.message);
    }
    throw new Error('the research ended without an answer');
  };
}
