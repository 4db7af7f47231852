import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { failure } from '../failure.ts';
import { CalculationError } from './calculation-error.ts';
import { evaluate } from './evaluate.ts';

const input = z.object({
  expression: z.string().describe('Arithmetic with + - * / // % ** and parentheses, such as (2 + 3) * 4.'),
});

/** Evaluates pure arithmetic; names, calls and anything else are refused. */
export function createCalculator(): Tool {
  return defineTool({
    name: 'calculator',
    readOnly: true,
    description:
      'Evaluates arithmetic: + - * / // (floor division) % (modulo) ** (power), unary minus and parentheses.',
    input,
    async execute({ expression }) {
      try {
        return `${expression} = ${String(evaluate(expression))}`;
      } catch (error) {
        if (error instanceof CalculationError) return failure(error);
        throw error;
      }
    },
  });
}
