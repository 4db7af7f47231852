import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { scopeOfCall } from './scope-of-call.ts';

const input = z.object({
  content: z.string().max(100_000),
  domain: z.string().default('general'),
  heading: z.string().optional().describe('A stable key: storing under it again replaces what was there.'),
});

export function createMemoryIngest(knowledge: Pick<KnowledgeStore, 'ingest'>): Tool {
  return defineTool({
    name: 'memory_ingest',
    description: 'Stores something to remember for later conversations.',
    input,
    execute: ({ content, domain, heading }, context) =>
      orRefusal(() => {
        if (content.trim() === '') return 'Error: there is nothing to store.';
        const stored = knowledge.ingest({
          content,
          domain: domain.trim() || 'general',
          heading: heading?.trim(),
          scope: scopeOfCall(context),
        });
        return `Stored chunk ${stored.id} in '${stored.domain}'.`;
      }),
  });
}
