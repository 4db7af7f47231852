import type { Bus } from '@trunkline/bus';
import { describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { busFailure } from '../errors.ts';
import type { SwitchboardEnv } from './guards.ts';

const limitQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(100) });

/** The alerts of the last days, out of the journal of the bus. */
export function mountAlerts(app: Hono<SwitchboardEnv>, bus: Bus, topic: string): void {
  const past = describeRoute({ summary: 'Alerts, the newest first' });
  app.get('/api/alerts', past, validate('query', limitQuery), async (context) => {
    const entries = await bus
      .history({ topic, limit: context.req.valid('query').limit })
      .catch((error: unknown) => {
        throw busFailure(error);
      });
    const alerts = entries.map(({ message: { id, timestamp, correlationId, payload } }) => ({
      id,
      at: new Date(timestamp).toISOString(),
      correlationId,
      ...(payload as object),
    }));
    return context.json({ success: true, data: alerts.toReversed() });
  });
}
