import { z } from 'zod';
import { oneLine } from '../text/line.ts';
import { LONGEST_NAME, type PlannedDimension } from './job.ts';
import type { RunContext } from './run-context.ts';

const LEAST = 3;
const MOST = 6;
const MOST_QUERIES = 3;
const MOST_LOOKED_AT = 50;

const planSchema = z.object({
  dimensions: z
    .array(z.object({ name: z.string().min(1), queries: z.array(z.string().min(1)).min(1) }))
    .min(LEAST),
});

const INSTRUCTIONS = `You plan research. Split the query into ${LEAST} to ${MOST} dimensions that together answer it and do not overlap.
Name each dimension in at most ten words, and give it one to three short queries for a search engine.`;

/** Decides which sides of the query are researched. */
export async function planDimensions(context: RunContext): Promise<PlannedDimension[]> {
  const { query, model, ask, budget } = context;
  const request = { ...ask, instructions: INSTRUCTIONS, prompt: `Research query: ${query}` };
  const plan = await budget.within('research', context.signal, (signal) =>
    model.object(planSchema, { ...request, signal }),
  );
  const planned = distinct(plan?.dimensions ?? standardPlan(query));
  return planned.length >= LEAST ? planned : standardPlan(query);
}

/** Each dimension once, and no more than a job researches. */
function distinct(dimensions: readonly PlannedDimension[]): PlannedDimension[] {
  const short = dimensions.slice(0, MOST_LOOKED_AT).map(({ name, queries }) => ({
    name: oneLine(name, LONGEST_NAME),
    queries: queries.slice(0, MOST_QUERIES).map((query) => oneLine(query, LONGEST_NAME)),
  }));
  const named = short.filter(({ name }) => name !== '');
  return [...new Map(named.map((each) => [each.name.toLowerCase(), each])).values()].slice(0, MOST);
}

/** For a model that cannot plan. */
function standardPlan(query: string): PlannedDimension[] {
  return [
    { name: `Background: ${query}`, queries: [query, `${query} overview`] },
    { name: `Evidence and figures: ${query}`, queries: [`${query} evidence`, `${query} statistics`] },
    { name: `Limits and criticism: ${query}`, queries: [`${query} criticism`, `${query} problems`] },
  ];
}
