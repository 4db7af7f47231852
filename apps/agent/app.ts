import { join } from 'node:path';
import { withGrpc } from '@trunkline/a2a';
import {
  type App,
  createApp,
  type HealthReport,
  listRoutes,
  type RenderError,
  serve,
  servePages,
} from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
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
import { type Agent, agentComponents } from './components.ts';
import { agentExposures } from './exposure.ts';
import { type AgentOptions, agentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { uploadPath } from './routes/console/chat-files.ts';
import { oauthForms } from './routes/mcp-authorization.ts';
import { mountRoutes } from './routes/table.ts';
import { strayAdvice } from './scheduler/diagnose.ts';
import { isSetupComplete, modelOverrides } from './setup/setup.ts';
import type { ToolModule } from './tools/tool-module.ts';
import { toolModules } from './tools/tool-modules.ts';

/** Starts the service. */
export async function start(
  options: AgentOptions,
  service: ServiceContext,
  modules: readonly ToolModule[] = toolModules,
): Promise<Service> {
  const agent = agentComponents(options, service, modules);
  const routes = component(
    'routes',
    agent,
    (running) => createAgentApp(running, service),
    ({ close }) => close(),
  );
  const server = component(
    'server',
    { routes, address: agent.address },
    async ({ routes: { app }, address }) => {
      const { portVariable = '--port', logger } = service;
      const http = await serve(app, { host: options.host, port: options.port, portVariable, logger });
      const grpcMessageBytes = (options.maxFileMb + 1) * 2 ** 20;
      const server = await withGrpc({ ...options, grpcMessageBytes }, 'A2A', http, logger);
      address.listen(server.url, server.grpcPort);
      return server;
    },
    (server) => server.stop(),
  );
  const { factory, scheduler } = agent;
  const ready = component('first agent', { server, factory, scheduler }, async ({ factory, scheduler }) => {
    await factory.create();
    scheduler?.start();
  });
  const { values, stop } = await startComponents({ ...agent, routes, server, ready });
  return {
    url: values.server.url,
    missing: () => missingParts(values, service),
    routes: () => listRoutes(values.routes.app),
    stop,
    requiresKey: () => requiresKey(values),
    problem: async () => (await values.model.gateway.problem())?.message,
    overrides: () => modelOverrides(values.context.live.config, options),
  };
}

const requiresKey = ({ context: { keys } }: Agent) => keys.token !== undefined || keys.apiKey !== undefined;

function createAgentApp(agent: Agent, service: ServiceContext): { app: App; close(): Promise<void> } {
  const { logger } = service;
  const { options, operator, accounts, audit, serviceToken, ui } = agent.context;
  const services = servicesOf(options, service);
  const health = async (asker: Principal) => ({
    ...facts(agent),
    model: await modelStatus(agent.model.gateway, { asker, requiresKey: requiresKey(agent) }),
    missing: missingParts(agent, service),
    services: await services(),
  });
  const provider = signInOf(options, service);
  const homePath = ui === 'console' ? '/app' : '/';
  const app = createApp({
    service: 'agent',
    examples: join(import.meta.dirname, 'routes/examples.json'),
    access: { operator, accounts, serviceToken, audit, provider },
    a2aOrigins: options.allowedOrigins,
    homePath,
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: agent.metrics,
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    limits: options,
    uploadPaths: [uploadPath],
    anyBodyType: oauthForms,
    bodyLimits: bodyLimits(options),
    health: async (asker) => {
      const { kind } = await agent.context.sandbox.status();
      return healthReport(agent.active.isReady, { ...(await health(asker)), sandbox: kind });
    },
  });
  mountTrust(app, {
    service: 'agent',
    operator,
    accounts,
    audit,
    secrets: secretsOf(options, service),
    settings: settingsOf(agentOptions, service),
    policy: agent.context.policy,
    agents: () => [options.agentName],
    tools: () => agent.active.graph?.tools ?? [],
    home: options.trunklineHome,
    exposures: () => agentExposures(options, agent.context.keys),
    sandbox: agent.context.sandbox,
    toolTrust: () => {
      const { mcp, coding_agents: coding, delegates } = agent.context.live.config;
      const file = 'agent.yaml';
      return {
        configured: [
          ...mcp.servers
            .filter(({ enabled }) => enabled)
            .map((server) => ({ ...server, kind: 'MCP server' as const, file })),
          ...coding.map((program) => ({ ...program, kind: 'coding agent' as const, file })),
          ...delegates
            .filter(({ enabled }) => enabled)
            .map((delegate) => ({ ...delegate, kind: 'delegate' as const, file })),
        ],
        commandHosts: options.sandboxHosts,
      };
    },
    approvers: () =>
      agent.context.live.config.approvals.approvers.map((identity) => ({ identity, file: 'agent.yaml' })),
    hasPage: ui !== 'none',
  });
  mountSetup(app, {
    service: 'agent',
    operator,
    audit,
    secrets: secretsOf(options, service),
    options,
    env: service.env,
    logger: logger,
    overrides: service.overrides ?? (() => modelOverrides(agent.context.live.config, options)),
  });
  const close = mountRoutes(app, agent, () => facts(agent), { homePath, provider });
  mountPages(app, ui);
  return { app, close };
}

/** Base64 takes a third more than the file, and a form has some text around it. */
function bodyLimits({ maxFileMb }: AgentOptions): Record<string, number> {
  const form = (maxFileMb + 1) * 2 ** 20;
  const json = Math.ceil((maxFileMb * 4) / 3 + 1) * 2 ** 20;
  return {
    [uploadPath]: form,
    ...Object.fromEntries(['/a2a', '/v1', '/message:send', '/message:stream'].map((path) => [path, json])),
  };
}

/** `/healthz` answers 503 until the first agent is ready. */
export function healthReport(isReady: boolean, facts: Readonly<Record<string, unknown>>): HealthReport {
  return { status: isReady ? 200 : 503, body: { ok: isReady, graph_compiled: isReady, ...facts } };
}

function missingParts({ model, scheduler, context: { places } }: Agent, service: ServiceContext) {
  const strays = scheduler?.strayNames ?? [];
  const hint = `Schedules of ${strays.join(', ')} in ${places.scheduler} do not run. ${strayAdvice}`;
  return [
    ...missingModel(model.gateway.describe()),
    ...(strays.length > 0 ? [{ what: 'Schedules', variable: 'AGENT_NAME', hint }] : []),
    ...missingSettings(service),
  ];
}

/** What `/healthz` and the console both show. */
function facts({ context: { directory, ui }, model }: Agent) {
  return { setup_complete: isSetupComplete(directory), ui, model: model.gateway.describe() };
}

function mountPages(app: App, ui: AgentOptions['ui']): void {
  const directory = join(import.meta.dirname, 'dist');
  if (ui !== 'none') servePages(app, { directory, base: '/app', index: 'app.html' });
  // The page at /app names its assets relative to the root.
  if (ui === 'console') servePages(app, { directory: join(directory, 'assets'), base: '/assets' });
  if (ui === 'full') servePages(app, { directory });
}

const renderError: RenderError = (error, { path }) => ({
  body: { detail: error.message, ...(path.startsWith('/v1/') && openAiErrorBody(error)) },
});
