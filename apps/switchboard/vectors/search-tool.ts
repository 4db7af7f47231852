import { defineTool, type Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { VectorMatch } from './vector-store.ts';

const longestLine = 1500;

/** Lets an agent look for what was said before and for documents, by meaning. */
export function createSearchKnowledge(
  search: (query: string, limit: number, signal: AbortSignal) => Promise<VectorMatch[]>,
): Tool {
  return defineTool({
    name: 'search_knowledge',
    description: 'Finds earlier conversations and documents by their meaning.',
    input: z.object({
      query: z.string().min(1).max(2000),
      limit: z.number().int().min(1).max(20).default(5),
    }),
    async execute({ query, limit }, { signal }) {
      try {
        const found = await search(query, limit, signal);
        return found.length === 0 ? 'Nothing was found.' : found.map(lineOf).join('\n---\n');
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: ${errorMessage(error)}`;
      }
    },
  }) as Tool;
}

function lineOf({ origin, at, text, score }: VectorMatch): string {
  const day = new Date(at).toISOString().slice(0, 16);
  return `[${origin}, ${day}, ${score.toFixed(2)}] ${text.slice(0, longestLine)}`;
}
