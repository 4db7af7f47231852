import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type Owners, operatorScope } from '../../owners.ts';
import type { Chunk, KnowledgeStore } from '../../stores/knowledge/knowledge-store.ts';
import { jsonRoutes } from '../json-routes.ts';
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
  owners: Owners;
}

/** The memory of the agent, as the console searches and mends it: the operator all of it, others their own. */
export function mountKnowledge(app: Hono<AppEnv>, { topK, owners, ...routes }: KnowledgeRoutes): void {
  const knowledge = () => loaded(routes.knowledge(), 'The knowledge store');
  const ownScope = (principal: Principal) => owners.memory({ principal, sessionId: '' });
  /** The scope that somebody reads; undefined stands for all. */
  const readScope = (principal: Principal) => {
    const own = ownScope(principal);
    return own === operatorScope ? undefined : own;
  };
  const require = (principal: Principal, id: number) => {
    const scope = readScope(principal);
    const chunk = knowledge().get(id);
    if (chunk === undefined || (scope !== undefined && chunk.scope !== scope))
      throw consoleErrors.not_found({ what: `chunk ${id}` });
  };
  const route = jsonRoutes(app);
  route.get(
    '/api/knowledge/search',
    { summary: 'Look something up in the knowledge store', query: search },
    async ({ query: { q, k = topK() }, principal }) => ({
      results: await knowledge().recall(q, k, readScope(principal)),
    }),
  );
  route.get(
    '/api/knowledge/chunks',
    { summary: 'All that is remembered, the newest first', query: pageQuery },
    ({ query: { limit, domain, before }, principal }) => {
      const wanted = { domain, before: placeOf(before), scope: readScope(principal) };
      const found = knowledge().page(limit + 1, wanted);
      const chunks = found.slice(0, limit);
      return { chunks, next: found.length > limit ? cursorOf(chunks.at(-1)) : null };
    },
  );
  route.get('/api/knowledge/stats', { summary: 'How much each domain holds' }, ({ principal }) => ({
    domains: knowledge().stats(readScope(principal)),
  }));
  route.post(
    '/api/knowledge/chunks',
    { summary: 'Remember something', json: newChunk },
    ({ json, principal }) => ({ chunk: knowledge().ingest({ ...json, scope: ownScope(principal) }) }),
  );
  route.put(
    '/api/knowledge/chunks/:id',
    { summary: 'Mend what is remembered', param: place, json: newChunk.pick({ content: true }) },
    ({ param: { id }, json, principal }) => {
      require(principal, id);
      return { chunk: knowledge().edit(id, json.content) };
    },
  );
  route.delete(
    '/api/knowledge/chunks/:id',
    { summary: 'Forget something', param: place },
    ({ param: { id }, principal }) => {
      require(principal, id);
      knowledge().remove(id);
      return { ok: true };
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
