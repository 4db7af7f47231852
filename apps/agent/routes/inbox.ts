import { A2aError, type TaskEngine } from '@trunkline/a2a';
import type { AppEnv } from '@trunkline/http';
import { type Principal, withOrigins } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import { type ActivityFeed, activityContextOf } from '../activity/activity-feed.ts';
import { actingFor } from '../approvals/approvals.ts';
import { canContinue } from '../callers.ts';
import type { Owners } from '../owners.ts';
import { type InboxItem, type InboxStore, PRIORITIES } from '../stores/inbox-store.ts';
import type { SessionStore } from '../turns/session-store.ts';
import { jsonRoutes } from './json-routes.ts';

const windowMs = 60_000;

export interface InboxRoutes {
  inbox: InboxStore;
  engine: TaskEngine;
  feed: ActivityFeed;
  sessions: SessionStore;
  owners: Owners;
}

const newItem = z.object({
  text: z.string().trim().min(1).max(20_000),
  priority: z.enum(PRIORITIES).default('next'),
  source: z.string().max(200).optional(),
  dedup_key: z.string().max(200).optional(),
});
const query = z.object({
  floor: z.enum(PRIORITIES).default('later'),
  include_delivered: z.stringbool().default(false),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  offset: z.coerce.number().int().nonnegative().default(0),
  /** The `next` of the page before: no item shows twice or is missed, whatever comes in meanwhile. */
  after: z
    .string()
    .regex(/^(now|next|later)\.\d{1,15}$/, 'expected the `next` of the page before')
    .transform(itemAt)
    .optional(),
});
const place = z.object({ id: z.coerce.number().int().positive() });

const maxFires = 8;

/** What comes from outside: it waits for the agent to look, or starts a turn when it is urgent. */
export function mountInbox(app: Hono<AppEnv>, routes: InboxRoutes): void {
  const { inbox, engine, feed, owners, sessions } = routes;
  const { actor } = owners;
  const mayContinue = canContinue({ owners }, { sessions });
  const limit = new TurnRateLimit(maxFires);
  const { get, post } = jsonRoutes(app);
  const add = { summary: 'Put something into the inbox', json: newItem };
  post('/api/inbox', add, async ({ json: { text, priority, source, dedup_key }, principal }) => {
    const sender = actor(principal);
    const item = inbox.for(sender).add({ text, priority, source, dedupKey: dedup_key });
    if (item === undefined) return { ok: true, deduped: true };
    const notice = { id: String(item.id), priority, source: source ?? null, text };
    feed.publish({ event: 'inbox.item', data: notice }, sender.owner);
    const isUrgent = priority === 'now' && mayContinue(activityContextOf(principal), principal);
    const fired = isUrgent && limit.take(sender.owner) && (await fire(engine, item, principal));
    return { ok: true, item, fired };
  });
  get('/api/inbox', { summary: 'What is in the inbox', query }, ({ query: given, principal }) => {
    const { include_delivered, limit: most, ...rest } = given;
    const found = inbox
      .for(actor(principal))
      .list({ ...rest, includeDelivered: include_delivered, limit: most + 1 });
    const items = found.slice(0, most);
    const last = found.length > most ? items.at(-1) : undefined;
    return { items, next: last === undefined ? null : `${last.priority}.${last.id}` };
  });
  const deliver = { summary: 'Mark an item as delivered', param: place };
  post('/api/inbox/:id/deliver', deliver, ({ param: { id }, principal }) => ({
    ok: true,
    item: inbox.for(actor(principal)).deliver(id),
  }));
}

function itemAt(cursor: string): Pick<InboxItem, 'priority' | 'id'> {
  const [priority, id] = cursor.split('.');
  return { priority: priority as InboxItem['priority'], id: Number(id) };
}

/**
 * Starts a turn for an urgent item in the agent's conversation with itself, with no more rights than its sender has;
 * says whether it was taken.
 */
async function fire(engine: TaskEngine, item: InboxItem, sender: Principal): Promise<boolean> {
  try {
    return await start(engine, item, sender);
  } catch (error) {
    if (error instanceof A2aError) return false;
    throw error;
  }
}

function start(engine: TaskEngine, { id, text, source }: InboxItem, sender: Principal): Promise<boolean> {
  const from = source === '' ? '' : ` from ${source}`;
  const prompt = `${text}\n\n(This just came in${from} and is urgent.)`;
  const { stored } = engine.start({
    message: {
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ type: 'text', text: prompt }],
      contextId: activityContextOf(sender),
    },
    metadata: { inbox_item_id: id },
    principal: withOrigins(actingFor(sender, 'inbox'), [{ kind: 'inbox', source }]),
    strict: false,
  });
  return stored;
}

/** Allows everybody a number of turns in any sixty seconds. */
class TurnRateLimit {
  readonly #max: number;
  readonly #now: () => number;
  readonly #times = new Map<string, number[]>();

  constructor(max: number, now: () => number = Date.now) {
    this.#max = max;
    this.#now = now;
  }

  /** Counts a turn. Returns false when the limit is reached. */
  take(owner: string): boolean {
    const since = this.#now() - windowMs;
    for (const [each, times] of this.#times) if ((times.at(-1) ?? 0) <= since) this.#times.delete(each);
    const times = (this.#times.get(owner) ?? []).filter((time) => time > since);
    if (times.length >= this.#max) return false;
    this.#times.set(owner, [...times, this.#now()]);
    return true;
  }
}
