import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { scopeOfCall } from './scope-of-call.ts';

export function createMemoryStats(knowledge: Pick<KnowledgeStore, 'stats'>): Tool {
  return defineTool({
    name: 'memory_stats',
    description: 'Counts what is stored, by domain and in total.',
    input: z.object({}),
    execute: (_, context) =>
      orRefusal(() => {
        const stats = knowledge.stats(scopeOfCall(context));
        const total = stats.reduce((sum, { chunks }) => sum + chunks, 0);
        return [...stats.map(({ domain, chunks }) => `${domain}: ${chunks}`), `total: ${total}`].join('\n');
      }),
  });
}
