import { redact } from '@trunkline/config';
import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { PluginHost } from '../core/plugins.ts';
import { retryAfterSeconds } from '../errors.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { SwitchboardEnv } from './guards.ts';

export function mountWorkspace(app: Hono<SwitchboardEnv>, workspace: Workspace): void {
  app.get(
    '/api/workspace',
    describeRoute({ summary: 'The workspace and what is wrong with it' }),
    (context) =>
      context.json({
        success: true,
        data: {
          directory: workspace.directory,
          problems: workspace.problems(),
          agents: workspace.agents(),
          externalAgents: workspace
            .externalAgents()
            .map(({ agent, ...entry }) => ({ ...entry, url: redact(agent.url) })),
          channels: workspace.channels(),
          fleet: workspace.fleet(),
          routes: workspace.routes(),
          mcpServers: workspace
            .mcpServers()
            .map(({ name, trust, transport, enabled }) => ({ name, trust, transport, enabled })),
          ceremonies: workspace.ceremonies(),
          chat: workspace.chat(),
          codehost: workspace.codehost(),
          cloud: workspace.cloud() ?? null,
          targets: names(workspace.targets()),
        },
      }),
  );
}

/** Names only: the entries hold credentials. */
function names(targets: ReadonlyMap<string, unknown> | undefined): string[] | null {
  return targets === undefined ? null : [...targets.keys()];
}

/** For load balancers. */
export function mountReady(app: Hono<SwitchboardEnv>, isReady: () => Promise<boolean>): void {
  app.get('/ready', describeRoute({ summary: 'Whether messages are taken now' }), async (context) =>
    (await isReady())
      ? context.json({ success: true, data: { ready: true } })
      : context.json({ success: false, error: 'The bus takes no messages now; see /healthz.' }, 503, {
          'retry-after': String(retryAfterSeconds),
        }),
  );
}

export function mountPlugins(app: Hono<SwitchboardEnv>, plugins: PluginHost): void {
  app.get('/api/plugins', describeRoute({ summary: 'The plugins and how they are' }), (context) =>
    context.json({ success: true, data: plugins.list() }),
  );
}
