import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { SwitchboardEnv } from './guards.ts';

/** The compiled list, in the form that project registries poll. */
export function mountProjectSettings(app: Hono<SwitchboardEnv>, projects: () => readonly object[]): void {
  app.get(
    '/api/settings/global',
    describeRoute({ summary: 'The list of projects compiled here' }),
    (context) => context.json({ success: true, projects: projects() }),
  );
}
