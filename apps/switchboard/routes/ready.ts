import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { SwitchboardEnv } from './guards.ts';

/** For load balancers: whether messages are taken now. */
export function mountReady(app: Hono<SwitchboardEnv>, isReady: () => boolean): void {
  app.get('/ready', describeRoute({ summary: 'Whether messages are taken now' }), (context) =>
    isReady()
      ? context.json({ success: true, data: { ready: true } })
      : context.json({ success: false, error: 'The bus is not connected; see /healthz.' }, 503),
  );
}
