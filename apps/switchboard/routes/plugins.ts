import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { PluginHost } from '../core/plugin-host.ts';
import type { SwitchboardEnv } from './guards.ts';

/** Which plugins run, which are off, and why. */
export function mountPlugins(app: Hono<SwitchboardEnv>, plugins: PluginHost): void {
  app.get('/api/plugins', describeRoute({ summary: 'The plugins and how they are' }), (context) =>
    context.json({ success: true, data: plugins.list() }),
  );
}
