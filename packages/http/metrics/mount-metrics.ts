import type { Env, Hono } from 'hono';
import { describeRoute } from '../openapi/describe-route.ts';
import type { Metrics } from './metrics.ts';

/** `/metrics` in the text format of Prometheus. */
export function mountMetrics<E extends Env>(app: Hono<E>, metrics: Metrics): void {
  const description = describeRoute({ summary: 'Figures for Prometheus', mediaType: 'text/plain' });
  app.get('/metrics', description, async () => {
    return new Response(await metrics.render(), { headers: { 'content-type': metrics.contentType } });
  });
}
