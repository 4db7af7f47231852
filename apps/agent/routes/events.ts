import { type AppEnv, describeRoute, sse } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ActivityFeed } from '../activity/activity-feed.ts';
import type { LiveChanges } from '../activity/live-changes.ts';
import type { Owners } from '../owners.ts';
import { jsonRoutes } from './json-routes.ts';

const query = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  before: z.coerce.number().int().positive().optional(),
});

/** The feed: what the agent does on its own, and what comes into its inbox. Open to all; each sees their own. */
export function mountEvents(
  app: Hono<AppEnv>,
  { feed, owners: { viewer } }: { feed: ActivityFeed; owners: Owners },
): void {
  const description = describeRoute({
    summary: 'Activity and inbox as server-sent events',
    mediaType: 'text/event-stream',
  });
  app.get('/api/events', description, (context) =>
    sse(context, {
      greeting: 'connected',
      subscribe: ({ send }) => feed.subscribe(viewer(context.get('principal')), send),
      overflow: 'drop-oldest',
    }),
  );
  const activity = { summary: 'Recent events of the feed, the newest first', query };
  jsonRoutes(app).get('/api/activity', activity, ({ query: { limit, before }, principal }) => {
    const events = feed.events(viewer(principal), limit + 1, before);
    const page = events.slice(0, limit);
    return { events: page, next: events.length > limit ? (page.at(-1)?.id ?? null) : null };
  });
}

/** Tells open consoles what to load again. Stands before the routes whose changes it reports. */
export function mountLive(
  app: Hono<AppEnv>,
  { changes, owners: { viewer } }: { changes: LiveChanges; owners: Owners },
): void {
  app.use('/api/*', changes.requests);
  app.get(
    '/api/live',
    describeRoute({
      summary: 'Which parts of the console have changed, as server-sent events',
      mediaType: 'text/event-stream',
    }),
    (context) =>
      sse(context, {
        greeting: 'connected',
        subscribe: ({ send }) => changes.subscribe(viewer(context.get('principal')), send),
      }),
  );
}
