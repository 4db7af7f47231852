import { joinOrigins } from '@trunkline/identity';
import { defineTool, type Tool, type ToolContext } from '@trunkline/llm';
import { clamp, oneLine } from '@trunkline/tools';
import { z } from 'zod';
import type { KnowledgeStore } from '../stores/knowledge/knowledge-store.ts';
import { defineToolModule } from './tool-module.ts';

const maxRecalled = 20;
const maxListed = 200;
const maxLineLength = 2000;
const dailyLogDomain = 'daily-log';

export const memoryTools = defineToolModule({
  name: 'memory',
  tools({ stores: { knowledge } }) {
    if (knowledge === undefined) return [];
    return [
      memoryIngest(knowledge),
      memoryRecall(knowledge),
      memoryList(knowledge),
      memoryStats(knowledge),
      createDailyLog(knowledge),
    ];
  },
});

function memoryIngest(knowledge: KnowledgeStore): Tool {
  return defineTool({
    name: 'memory_ingest',
    effects: ['writes'],
    description: 'Stores something to remember for later conversations.',
    input: z.object({
      content: z.string().max(100_000),
      domain: z.string().default('general'),
      heading: z
        .string()
        .optional()
        .describe('A stable key: storing under it again replaces what was there.'),
    }),
    execute: async ({ content, domain, heading }, context) => {
      if (content.trim() === '') return 'Error: there is nothing to store.';
      const stored = knowledge.ingest({
        content,
        domain: domain.trim() || 'general',
        heading: heading?.trim(),
        scope: scopeOfCall(context),
        origins: context.principal?.origins,
      });
      return `Stored chunk ${stored.id} in '${stored.domain}'.`;
    },
  });
}

function memoryRecall(knowledge: KnowledgeStore): Tool {
  return defineTool({
    name: 'memory_recall',
    effects: ['reads'],
    description: 'Finds what was stored earlier, by its words and its meaning.',
    input: z.object({
      query: z.string(),
      k: z.number().int().default(5).describe('How many matches, at most 20.'),
    }),
    execute: async ({ query, k }, context) => {
      const chunks = await knowledge.recall(query, clamp(k, 1, maxRecalled), scopeOfCall(context));
      context.addOrigins?.(knowledge.originsOf(chunks));
      return chunks.length === 0 ? 'No matches.' : chunks.map(chunkLine).join('\n');
    },
  });
}

function memoryList(knowledge: KnowledgeStore): Tool {
  return defineTool({
    name: 'memory_list',
    effects: ['reads'],
    description: 'Lists what was stored, the most recent first.',
    input: z.object({
      domain: z.string().optional(),
      limit: z.number().int().default(10).describe('How many, at most 200.'),
    }),
    execute: async ({ domain, limit }, context) => {
      const named = domain?.trim() || undefined;
      const chunks = knowledge.list(clamp(limit, 1, maxListed), named, scopeOfCall(context));
      context.addOrigins?.(knowledge.originsOf(chunks));
      return chunks.length === 0 ? 'Nothing is stored.' : chunks.map(chunkLine).join('\n');
    },
  });
}

function memoryStats(knowledge: KnowledgeStore): Tool {
  return defineTool({
    name: 'memory_stats',
    effects: ['reads'],
    description: 'Counts what is stored, by domain and in total.',
    input: z.object({}),
    execute: async (_, context) => {
      const scope = scopeOfCall(context);
      const stats = knowledge.stats(scope);
      context.addOrigins?.(knowledge.originsOfDomains(scope));
      const total = stats.reduce((sum, { chunks }) => sum + chunks, 0);
      return [...stats.map(({ domain, chunks }) => `${domain}: ${chunks}`), `total: ${total}`].join('\n');
    },
  });
}

/** A heading is stored once, so each entry is stored together with the earlier ones of the day. */
export function createDailyLog(
  knowledge: Pick<KnowledgeStore, 'ingest' | 'find' | 'originsOf'>,
  now: () => Date = () => new Date(),
): Tool {
  return defineTool({
    name: 'daily_log',
    effects: ['writes'],
    description: "Adds an entry to today's log.",
    input: z.object({ content: z.string().max(20_000) }),
    execute: async ({ content }, context) => {
      if (content.trim() === '') return 'Error: there is nothing to store.';
      const heading = now().toISOString().slice(0, 10);
      const scope = scopeOfCall(context);
      const earlier = knowledge.find(dailyLogDomain, heading, scope);
      const text = earlier === undefined ? content : `${earlier.content}\n${content}`;
      const origins = joinOrigins(earlier && knowledge.originsOf([earlier]), context.principal?.origins);
      const { id } = knowledge.ingest({ content: text, domain: dailyLogDomain, heading, scope, origins });
      return `Stored chunk ${id} in '${dailyLogDomain}'.`;
    },
  });
}

/** Whose memories a call uses; without a scope those of its conversation alone. */
function scopeOfCall({ scope, sessionId }: ToolContext): string {
  return scope ?? `context:${sessionId}`;
}

/** `[<domain>] <heading>: <text>`; without a heading there is no colon either. */
function chunkLine({ domain, heading, content }: Record<'domain' | 'heading' | 'content', string>): string {
  const text = oneLine(content, maxLineLength);
  return heading === '' ? `[${domain}] ${text}` : `[${domain}] ${heading}: ${text}`;
}
