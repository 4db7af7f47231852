import { type AppEnv, describeRoute, sse } from '@trunkline/http';
import type { Hono } from 'hono';
import type { LiveChanges } from '../../activity/live-changes.ts';

/** Tells open consoles what to load again. Stands before the routes whose changes it reports. */
export function mountLive(app: Hono<AppEnv>, { changes }: { changes: LiveChanges }): void {
  app.use('/api/*', changes.requests);
  app.get(
    '/api/live',
    describeRoute({
      summary: 'Which parts of the console have changed, as server-sent events',
      mediaType: 'text/event-stream',
    }),
    (context) => sse(context, { greeting: 'connected', subscribe: ({ send }) => changes.subscribe(send) }),
  );
}
