import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withGrpc } from '@trunkline/a2a';
import { BusError } from '@trunkline/bus';
import {
  type App,
  createApp,
  createMetrics,
  listRoutes,
  type RenderError,
  serve,
  servePages,
} from '@trunkline/http';
import { openAiErrorBody } from '@trunkline/openai-api';
import {
  component,
  missingModel,
  missingSettings,
  modelStatus,
  mountSetup,
  mountTrust,
  type Service,
  type ServiceContext,
  secretsOf,
  servicesOf,
  settingsOf,
  signInOf,
  startComponents,
} from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import type { Caller } from './access/caller.ts';
import { switchboardExposures } from './access/exposure.ts';
import type { BusMonitor } from './cluster/bus-monitor.ts';
import { type Switchboard, switchboardComponents } from './components.ts';
import { type SwitchboardOptions, switchboardOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountRoutes } from './routes/table.ts';
import { surfaces } from './surfaces/list.ts';
import type { Surface } from './surfaces/surface.ts';

/** How often it is seen whether the start waits for NATS. */
const lookEveryMs = 250;

/** Starts the service. */
export async function start(options: SwitchboardOptions, service: ServiceContext): Promise<Service> {
  return (await startSwitchboard(options, service)).service;
}

/** Starts the service and gives its components too, for a benchmark that adds a skill of its own. */
export async function startSwitchboard(options: SwitchboardOptions, service: ServiceContext) {
  const { logger, peers, portVariable = 'SWITCHBOARD_PORT' } = service;
  const { promise: begun, resolve: haveBegun } = Promise.withResolvers<void>();
  const switchboard = switchboardComponents(options, service, begun);
  const app = component('app', switchboard, (running) => createSwitchboardApp(running, service));
  const { context, bus, monitor, exchange, plugins } = switchboard;
  const server = component(
    'server',
    { app, context },
    async ({ app, context: { address } }) => {
      const http = await serve(app, { host: options.host, port: options.port, portVariable, logger });
      const server = await withGrpc(options, 'SWITCHBOARD', http, logger);
      address.listen(server.url, server.grpcPort);
      return server;
    },
    (running) => running.stop(),
  );
  // Stops in this order: no more requests, no more plugins, no more messages; then the components that their handlers use.
  const messages = component(
    'messages',
    { server, bus, exchange },
    async ({ exchange }) => {
      peers?.onChange(() => exchange.broker?.refresh());
    },
    'bus',
  );
  const runningPlugins = component(
    'running plugins',
    { messages, plugins, bus, monitor, exchange },
    async ({ plugins, bus, monitor, exchange }) => {
      let hasBegun = false;
      const begin = async () => {
        await exchange.start();
        await plugins.start();
        hasBegun = true;
        haveBegun();
      };
      const beginning = begin();
      // Where NATS cannot be used yet, the pages answer meanwhile, and say so.
      while (!hasBegun && bus.status().problem === undefined)
        await Promise.race([beginning, delay(lookEveryMs, undefined, { ref: false })]);
      const ended = beginning.catch((error: unknown) => {
        if (error instanceof BusError && error.code === 'stopped') {
          logger.warn({ err: error }, 'stopped before NATS came');
          return;
        }
        logger.error({ err: error }, 'failed to start after NATS came');
        monitor.fail(`The switchboard could not start: ${errorMessage(error)} See the log; then restart it.`);
      });
      return { plugins, bus, ended, hasBegun: () => hasBegun };
    },
    async ({ plugins, bus, ended, hasBegun }) => {
      if (!hasBegun()) await bus.stop();
      await ended;
      await plugins.stop();
    },
  );
  const requests = component('requests', { server, runningPlugins }, ({ server }) => server, 'server');
  const { values, stop } = await startComponents({ ...switchboard, app, requests });
  const started: Service = {
    url: values.requests.url,
    missing: () => [...missingModel(values.models.describe()), ...missingSettings(service)],
    routes: () => listRoutes(values.app),
    stop,
    requiresKey: () => values.keys.keyring().size > 0,
    problem: async () => (await values.models.problem())?.message,
  };
  return { service: started, components: values };
}

function createSwitchboardApp(switchboard: Switchboard, service: ServiceContext): App<Caller> {
  const { context, models, workspace, monitor } = switchboard;
  const { options, operator, accounts, audit, peers, logger } = context;
  const services = servicesOf(options, service);
  const app = createApp<Caller>({
    service: 'switchboard',
    examples: join(import.meta.dirname, 'routes/examples.json'),
    access: {
      operator,
      accounts,
      serviceToken: peers?.serviceToken,
      audit,
      provider: signInOf(options, service),
    },
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'switchboard' }),
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    limits: options,
    anyBodyType: surfaces.flatMap(({ anyBodyPaths = [] }: Surface) => anyBodyPaths),
    // 200 also while the bus is away: this process need not be restarted. /ready says whether it takes messages.
    health: async (asker) => ({
      status: 200,
      body: {
        ...(await busHealth(monitor, asker.kind === 'anonymous' && switchboard.keys.keyring().size > 0)),
        model: await modelStatus(models, { asker, requiresKey: switchboard.keys.keyring().size > 0 }),
        missing: [...missingModel(models.describe()), ...missingSettings(service)],
        services: await services(),
        sandbox: (await switchboard.context.sandbox.status()).kind,
      },
    }),
  });
  mountTrust(app, {
    service: 'switchboard',
    operator,
    accounts,
    audit,
    secrets: secretsOf(options, service),
    settings: settingsOf(switchboardOptions, service),
    policy: context.policy,
    agents: () => workspace.agents().map(({ name }) => name),
    tools: () => switchboard.exchange.agentTools(),
    home: options.trunklineHome,
    exposures: () => switchboardExposures(options, switchboard.keys.listed()),
    sandbox: context.sandbox,
    toolTrust: () => ({
      configured: workspace
        .mcpServers()
        .filter(({ enabled = true }) => enabled)
        .map((server) => ({
          kind: 'MCP server',
          name: server.name,
          file: `mcp-servers.d/${server.name}.yaml`,
          trusted: server.trust !== 'community',
          sandbox: server.transport === 'stdio' ? server.sandbox : undefined,
        })),
      commandHosts: options.sandboxHosts,
      shell: options.shell,
    }),
    approvers: () => workspace.approvers().map((identity) => ({ identity, file: 'approvers.yaml' })),
    senders: () => ({
      pairing: options.pairing,
      trustedChannels: workspace.channels().flatMap(({ id, trustMembers }) => (trustMembers ? [id] : [])),
    }),
  });
  mountSetup(app, {
    service: 'switchboard',
    operator,
    audit,
    secrets: secretsOf(options, service),
    options,
    env: service.env,
    logger: service.logger,
    overrides: service.overrides,
  });
  mountRoutes(app, switchboard);
  const pages = join(import.meta.dirname, 'dist');
  servePages(app, { directory: pages, base: '/app', index: 'app.html' });
  servePages(app, { directory: pages });
  return app;
}

/** Addresses and names of servers are not for strangers. */
async function busHealth(monitor: BusMonitor, isStranger: boolean) {
  const { problem, replicas, leader, peers, ...status } = await monitor.health();
  const details = {
    ...(problem !== undefined && { problem }),
    ...(replicas !== undefined && { replicas }),
    ...(leader !== undefined && { leader }),
    ...(peers !== undefined && { peers }),
  };
  const shown = isStranger && problem !== undefined ? { problem: 'The bus takes no messages now.' } : details;
  return {
    ok: status.connected && problem === undefined,
    bus: { ...status, ...(isStranger && problem === undefined ? {} : shown) },
  };
}

/** A message that is too large is a bad request like any other bad message. */
const renderError: RenderError = (error, { path }) => ({
  body: path.startsWith('/v1/')
    ? { success: false, ...openAiErrorBody(error) }
    : { success: false, error: error.message },
  ...(path === '/publish' && error.code === 'body_too_large' && { status: 400 }),
});
