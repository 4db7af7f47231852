import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { chunkLine } from './chunk-line.ts';
import { scopeOfCall } from './scope-of-call.ts';

const MOST = 200;

const input = z.object({
  domain: z.string().optional(),
  limit: z.number().int().default(10).describe('How many, at most 200.'),
});

export function createMemoryList(knowledge: Pick<KnowledgeStore, 'list'>): Tool {
  return defineTool({
    name: 'memory_list',
    description: 'Lists what was stored, the most recent first.',
    input,
    execute: ({ domain, limit }, context) =>
      orRefusal(() => {
        const named = domain?.trim() || undefined;
        const chunks = knowledge.list(clamp(limit, 1, MOST), named, scopeOfCall(context));
        return chunks.length === 0 ? 'Nothing is stored.' : chunks.map(chunkLine).join('\n');
      }),
  });
}
