import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Chunk, KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { consoleErrors, loaded } from './errors.ts';

const search = z.object({
  q: z.string().trim().min(1),
  k: z.coerce.number().int().min(1).max(20).optional(),
});
const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  domain: z.string().optional(),
  before: z
    .string()
    .regex(/^[^ ]{10,40} \d{1,15}$/)
    .optional(),
});
const newChunk = z.object({
  content: z.string().trim().min(1).max(100_000),
  domain: z.string().trim().min(1).max(100).default('general'),
  heading: z.string().trim().max(300).default(''),
});
const place = z.object({ id: z.coerce.number().int().positive() });

/** The memory of the agent, as the console searches and mends it. */
export function mountKnowledge(
  app: Hono<AppEnv>,
  store: () => KnowledgeStore | undefined,
  topK: () => number,
): void {
  const knowledge = () => loaded(store(), 'The knowledge store');
  app.get(
    '/api/knowledge/search',
    describeRoute({ summary: 'Look something up in the knowledge store' }),
    validate('query', search),
    async (context) => {
      const { q, k = topK() } = context.req.valid('query');
      return context.json({ results: await knowledge().recall(q, k) });
    },
  );
  app.get(
    '/api/knowledge/chunks',
    describeRoute({ summary: 'All that is remembered, the newest first' }),
    validate('query', pageQuery),
    (context) => {
      const { limit, domain, before } = context.req.valid('query');
      const found = knowledge().page(limit + 1, { domain, before: placeOf(before) });
      const chunks = found.slice(0, limit);
      return context.json({ chunks, next: found.length > limit ? cursorOf(chunks.at(-1)) : null });
    },
  );
  app.get('/api/knowledge/stats', describeRoute({ summary: 'How much each domain holds' }), (context) =>
    context.json({ domains: knowledge().stats() }),
  );
  mountChanges(app, knowledge);
}

function mountChanges(app: Hono<AppEnv>, knowledge: () => KnowledgeStore): void {
  app.post(
    '/api/knowledge/chunks',
    describeRoute({ summary: 'Remember something' }),
    validate('json', newChunk),
    (context) => context.json({ chunk: knowledge().ingest(context.req.valid('json')) }),
  );
  app.put(
    '/api/knowledge/chunks/:id',
    describeRoute({ summary: 'Mend what is remembered' }),
    validate('param', place),
    validate('json', newChunk.pick({ content: true })),
    (context) => {
      const { id } = context.req.valid('param');
      const chunk = knowledge().edit(id, context.req.valid('json').content);
      if (chunk === undefined) throw consoleErrors.not_found({ what: `chunk ${id}` });
      return context.json({ chunk });
    },
  );
  app.delete(
    '/api/knowledge/chunks/:id',
    describeRoute({ summary: 'Forget something' }),
    validate('param', place),
    (context) => {
      const { id } = context.req.valid('param');
      if (!knowledge().remove(id)) throw consoleErrors.not_found({ what: `chunk ${id}` });
      return context.json({ ok: true });
    },
  );
}

function cursorOf(chunk: Chunk | undefined): string | null {
  return chunk === undefined ? null : `${chunk.updated_at} ${chunk.id}`;
}

function placeOf(cursor: string | undefined) {
  const [updated_at, id] = cursor?.split(' ') ?? [];
  return updated_at === undefined ? undefined : { updated_at, id: Number(id) };
}
