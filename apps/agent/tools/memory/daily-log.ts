import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { scopeOfCall } from './scope-of-call.ts';

const DOMAIN = 'daily-log';

/** A heading is stored once, so the day's earlier entries are carried along. */
export function createDailyLog(
  knowledge: Pick<KnowledgeStore, 'ingest' | 'find'>,
  now: () => Date = () => new Date(),
): Tool {
  return defineTool({
    name: 'daily_log',
    description: "Adds an entry to today's log.",
    input: z.object({ content: z.string().max(20_000) }),
    execute: ({ content }, context) =>
      orRefusal(() => {
        if (content.trim() === '') return 'Error: there is nothing to store.';
        const heading = now().toISOString().slice(0, 10);
        const scope = scopeOfCall(context);
        const earlier = knowledge.find(DOMAIN, heading, scope)?.content;
        const text = earlier === undefined ? content : `${earlier}\n${content}`;
        const { id } = knowledge.ingest({ content: text, domain: DOMAIN, heading, scope });
        return `Stored chunk ${id} in '${DOMAIN}'.`;
      }),
  });
}
