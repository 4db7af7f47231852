import type { Env, Hono } from 'hono';
import { describeRoute } from '../openapi/describe-route.ts';

export interface HealthReport {
  /** 503 while the service cannot do its work. */
  status: 200 | 503;
  body: unknown;
}

/** `/healthz`, for people, load balancers and `trunkline doctor`; never cached. */
export function mountHealth<E extends Env>(
  app: Hono<E>,
  health: () => HealthReport | Promise<HealthReport>,
): void {
  app.get('/healthz', describeRoute({ summary: 'Whether the service can do its work' }), async () => {
    const { status, body } = await health();
    return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
  });
}
