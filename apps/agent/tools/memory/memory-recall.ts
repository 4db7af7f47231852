import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { chunkLine } from './chunk-line.ts';
import { scopeOfCall } from './scope-of-call.ts';

const MOST = 20;

const input = z.object({
  query: z.string(),
  k: z.number().int().default(5).describe('How many matches, at most 20.'),
});

export function createMemoryRecall(knowledge: Pick<KnowledgeStore, 'recall'>): Tool {
  return defineTool({
    name: 'memory_recall',
    description: 'Finds what was stored earlier, by its words and its meaning.',
    input,
    execute: ({ query, k }, context) =>
      orRefusal(async () => {
        const chunks = await knowledge.recall(query, clamp(k, 1, MOST), scopeOfCall(context));
        return chunks.length === 0 ? 'No matches.' : chunks.map(chunkLine).join('\n');
      }, context.signal),
  });
}
