import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { AbTests } from '../experiments/ab-tests.ts';
import type { SwitchboardEnv } from './guards.ts';

/** The comparisons of two agents at a skill that are under way. */
export function mountExperiments(app: Hono<SwitchboardEnv>, tests: AbTests): void {
  app.get('/api/ab-tests', describeRoute({ summary: 'Comparisons of agents under way' }), (context) =>
    context.json({ success: true, data: tests.list() }),
  );
}
