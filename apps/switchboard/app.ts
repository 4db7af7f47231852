import { join } from 'node:path';
import { readVariables } from '@trunkline/config';
import {
  createApp,
  createMetrics,
  listRoutes,
  type RenderError,
  type RouteEntry,
  serve,
  servePages,
} from '@trunkline/http';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import type { Missing, Service, Surroundings } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import type { Caller } from './access/caller.ts';
import { openKeys } from './access/keys.ts';
import { openBus } from './core/open-bus.ts';
import { createExchange } from './exchange.ts';
import type { SwitchboardOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountBus } from './routes/bus.ts';
import { mountFlows } from './routes/flows.ts';
import { mountGuards } from './routes/guards.ts';
import { mountPublish } from './routes/publish.ts';
import { mountReady } from './routes/ready.ts';
import { mountRouting } from './routes/routing.ts';
import { mountWorkspace } from './routes/workspace.ts';
import { Problems } from './workspace/problems.ts';
import { announce, reportProblem } from './workspace/report.ts';
import { seedWorkspace } from './workspace/seed.ts';
import { openWorkspace } from './workspace/workspace.ts';

export interface SwitchboardService extends Service {
  /** Every method and path that it answers. */
  routes(): RouteEntry[];
}

/** Starts the service; the only place that names its concrete parts. */
export async function start(
  options: SwitchboardOptions,
  surroundings: Surroundings,
): Promise<SwitchboardService> {
  await using closing = new AsyncDisposableStack();
  const { logger, services = () => [], portVariable = 'SWITCHBOARD_PORT' } = surroundings;
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    logger,
  });
  const bus = await openBus(options, { logger });
  closing.defer(() => bus.stop());
  const problems = new Problems((problem) => void reportProblem(bus, logger, problem));
  const home = serviceHome(options.trunklineHome, 'switchboard');
  const directory = options.workspaceDirectory ?? join(home, 'workspace');
  if (await seedWorkspace(directory)) logger.info({ directory }, 'wrote an example workspace');
  const env = surroundings.env ?? Object.fromEntries(readVariables(/^(.+)$/));
  const keys = await openKeys({
    file: join(directory, 'keys.yaml'),
    adminKey: options.apiKey,
    host: options.host,
    env,
    hide: surroundings.hide,
    logger,
    onProblem: (file, error) => problems.note(file, error),
  });
  closing.defer(() => keys.close());
  const workspace = await openWorkspace({ directory, agentsFile: options.agentsFile, env, problems, logger });
  closing.defer(() => workspace.close());
  workspace.onChange((file) => void announce(bus, logger, { topic: 'config.updated', payload: { file } }));
  const exchange = createExchange({ options, home, env, bus, workspace, gateway, logger }, closing);
  const missing = () => missingParts(gateway);
  const app = createApp<Caller>({
    service: 'switchboard',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'switchboard' }),
    renderError,
    health: () => ({
      status: bus.status().connected ? 200 : 503,
      body: {
        ok: bus.status().connected,
        bus: bus.status(),
        model: gateway.describe(),
        missing: missing(),
        services: services(),
      },
    }),
  });
  mountGuards(app, keys);
  mountReady(app, () => bus.status().connected);
  mountPublish(app, bus);
  mountBus(app, bus);
  mountWorkspace(app, workspace);
  mountRouting(app, exchange.routing, (agent) => exchange.broker?.sighting(agent));
  mountFlows(app, exchange.flows);
  servePages(app, { directory: join(import.meta.dirname, 'dist') });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  // First no more requests, then no more messages, and only then what handlers use.
  closing.defer(() => bus.stop());
  closing.defer(() => server.stop());
  await exchange.begin();
  const parts = closing.move();
  return { url: server.url, missing, routes: () => listRoutes(app), stop: () => parts.disposeAsync() };
}

/** A message that is too large is a bad request like any other bad message. */
const renderError: RenderError = (error, { path }) => ({
  body: { success: false, error: error.message },
  ...(path === '/publish' && error.code === 'body_too_large' && { status: 400 }),
});

function missingParts(gateway: ModelGateway): Missing[] {
  if (!gateway.describe().demo) return [];
  return [
    {
      what: 'a model',
      variable: 'LLM_GATEWAY_URL',
      hint: 'the offline demo model answers until you set one',
    },
  ];
}
