import { type AppEnv, describeRoute, sse } from '@trunkline/http';
import type { Hono } from 'hono';
import type { ActivityFeed } from '../activity/activity-feed.ts';

/** The public feed: what the agent does of itself, and what comes into its inbox. */
export function mountEvents(app: Hono<AppEnv>, feed: ActivityFeed): void {
  const description = describeRoute({
    summary: 'Activity and inbox as server-sent events',
    mediaType: 'text/event-stream',
  });
  app.get('/api/events', description, (context) =>
    sse(context, {
      greeting: 'connected',
      subscribe: ({ send }) => feed.subscribe(send),
      overflow: 'drop-oldest',
    }),
  );
}
