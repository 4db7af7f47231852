import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { Chunk, KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { operatorScope, type ScopeRequest } from '../../turns/memory-scope.ts';
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

export interface KnowledgeRoutes {
  knowledge(): KnowledgeStore | undefined;
  topK(): number;
  /** Whose memories somebody has. */
  scopeOf(request: ScopeRequest): string;
}

/** What somebody sees of all memories. */
interface Sight {
  /** Where they write. */
  own: string;
  /** What they read; all scopes when undefined. */
  reads: string | undefined;
}

/** The memory of the agent, as the console searches and mends it: the operator all of it, others their own. */
export function mountKnowledge(app: Hono<AppEnv>, { topK, scopeOf, ...routes }: KnowledgeRoutes): void {
  const knowledge = () => loaded(routes.knowledge(), 'The knowledge store');
  const sightOf = (context: Context<AppEnv>): Sight => {
    const own = scopeOf({ principal: context.get('principal'), sessionId: '' });
    return { own, reads: own === operatorScope ? undefined : own };
  };
  app.get(
    '/api/knowledge/search',
    describeRoute({ summary: 'Look something up in the knowledge store' }),
    validate('query', search),
    async (context) => {
      const { q, k = topK() } = context.req.valid('query');
      return context.json({ results: await knowledge().recall(q, k, sightOf(context).reads) });
    },
  );
  app.get(
    '/api/knowledge/chunks',
    describeRoute({ summary: 'All that is remembered, the newest first' }),
    validate('query', pageQuery),
    (context) => {
      const { limit, domain, before } = context.req.valid('query');
      const found = knowledge().page(limit + 1, {
        domain,
        before: placeOf(before),
        scope: sightOf(context).reads,
      });
      const chunks = found.slice(0, limit);
      return context.json({ chunks, next: found.length > limit ? cursorOf(chunks.at(-1)) : null });
    },
  );
  app.get('/api/knowledge/stats', describeRoute({ summary: 'How much each domain holds' }), (context) =>
    context.json({ domains: knowledge().stats(sightOf(context).reads) }),
  );
  mountChanges(app, knowledge, sightOf);
}

function mountChanges(
  app: Hono<AppEnv>,
  knowledge: () => KnowledgeStore,
  sightOf: (context: Context<AppEnv>) => Sight,
): void {
  const require = (context: Context<AppEnv>, id: number) => {
    const { reads } = sightOf(context);
    const chunk = knowledge().get(id);
    if (chunk === undefined || (reads !== undefined && chunk.scope !== reads))
      throw consoleErrors.not_found({ what: `chunk ${id}` });
  };
  app.post(
    '/api/knowledge/chunks',
    describeRoute({ summary: 'Remember something' }),
    validate('json', newChunk),
    (context) =>
      context.json({
        chunk: knowledge().ingest({ ...context.req.valid('json'), scope: sightOf(context).own }),
      }),
  );
  app.put(
    '/api/knowledge/chunks/:id',
    describeRoute({ summary: 'Mend what is remembered' }),
    validate('param', place),
    validate('json', newChunk.pick({ content: true })),
    (context) => {
      const { id } = context.req.valid('param');
      require(context, id);
      return context.json({ chunk: knowledge().edit(id, context.req.valid('json').content) });
    },
  );
  app.delete(
    '/api/knowledge/chunks/:id',
    describeRoute({ summary: 'Forget something' }),
    validate('param', place),
    (context) => {
      const { id } = context.req.valid('param');
      require(context, id);
      knowledge().remove(id);
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
