import { defineTool, type RunningTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';

const askHuman = defineTool({
  name: 'ask_human',
  description:
    'Asks the person a question and waits for the answer. Use it only when you cannot go on without something that only the person knows or decides.',
  input: z.object({ question: z.string().min(1).describe('The question, in full.') }),
  pause: true,
});

const requestUserInput = defineTool({
  name: 'request_user_input',
  description:
    'Shows the person a form of one or more steps and waits; the answer is a JSON text. Use it when you need several values at once.',
  input: z.object({
    title: z.string().min(1),
    steps: z
      .array(
        z.object({
          schema: z.record(z.string(), z.unknown()).describe('JSON schema of the values of this step.'),
          uiSchema: z.record(z.string(), z.unknown()).optional(),
          title: z.string().optional(),
          description: z.string().optional(),
        }),
      )
      .min(1),
    description: z.string().default(''),
  }),
  pause: true,
});

/** Tools that park the task until a person answers. Only the lead agent has them. */
export const humanTools: readonly Tool[] = [askHuman, requestUserInput];

/** The tools for a turn in which nobody can be asked: calls that would wait are refused by the tool itself. */
export function withoutQuestions(tools: readonly Tool[]): RunningTool[] {
  return tools
    .filter((tool) => tool.pause !== true)
    .map((tool) => {
      const { pausesFor: _asks, ...running } = tool;
      return running;
    });
}
