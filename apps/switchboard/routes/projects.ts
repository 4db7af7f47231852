import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { RegistryState } from '../projects/registry.ts';
import type { SwitchboardEnv } from './guards.ts';

/** The list of projects as it was read last, and how the last attempt went. */
export function mountProjects(app: Hono<SwitchboardEnv>, registry: { state(): RegistryState }): void {
  app.get('/api/projects', describeRoute({ summary: 'The projects of the registry' }), (context) => {
    const { projects, readAt, error } = registry.state();
    const times = { readAt: readAt === null ? null : new Date(readAt).toISOString(), problem: error };
    return context.json({ success: true, data: projects, ...times });
  });
}
