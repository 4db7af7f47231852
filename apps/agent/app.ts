import { join } from 'node:path';
import {
  type App,
  type AppEnv,
  createApp,
  listRoutes,
  type RenderError,
  serve,
  servePages,
} from '@trunkline/http';
import { mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import { missingModel, operatorOf, type Peers, type Service, type ServiceContext } from '@trunkline/service';
import type { Hono } from 'hono';
import { type Agent, type Base, createAgent } from './agent.ts';
import { canAnswer, canJoin, scopesOf } from './callers.ts';
import { agentModel } from './openai/agent-model.ts';
import type { AgentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountChat } from './routes/chat.ts';
import { mountApprovals } from './routes/console/approvals.ts';
import { mountAudit } from './routes/console/audit.ts';
import { mountChats } from './routes/console/chats.ts';
import { mountConfig } from './routes/console/config.ts';
import { mountDelegates } from './routes/console/delegates.ts';
import { mountKnowledge } from './routes/console/knowledge.ts';
import { mountLive } from './routes/console/live.ts';
import { mountRuntime } from './routes/console/runtime.ts';
import { mountScheduler } from './routes/console/scheduler.ts';
import { mountSkills } from './routes/console/skills.ts';
import { mountStores } from './routes/console/stores.ts';
import { mountTasks } from './routes/console/tasks.ts';
import { mountEvents } from './routes/events.ts';
import { mountGuards } from './routes/guards.ts';
import { healthReport } from './routes/health.ts';
import { mountInbox } from './routes/inbox.ts';
import { mountMcp } from './routes/mcp.ts';
import { checkExposure, readKeys } from './setup/access.ts';
import { openLiveConfig } from './setup/config-file.ts';
import { configDirectoryOf, configFileOf, findPlaces, instanceOf } from './setup/places.ts';
import { secretVariables } from './setup/secret-references.ts';
import { completeSetup, isSetupComplete, modelSettings } from './setup/setup.ts';
import { writeConfig, writeSetup } from './setup/write-setup.ts';

/** Starts the service. */
export async function start(options: AgentOptions, context: ServiceContext): Promise<Service> {
  await using closing = new AsyncDisposableStack();
  const { logger, services = () => [], portVariable = '--port' } = context;
  const base = await prepare(options, context, closing);
  const agent = await createAgent(base, closing);
  const missing = () => missingModel(agent.model.gateway.describe());
  const { operator, serviceToken } = base;
  const app = createApp({
    service: 'agent',
    access: { operator, serviceToken },
    a2aOrigins: options.allowedOrigins,
    homePath: base.ui === 'console' ? '/app' : '/',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: agent.metrics,
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    health: () =>
      healthReport(agent.graph.compiled, { ...facts(base, agent), missing: missing(), services: services() }),
  });
  mountRoutes(app, base, agent);
  mountPages(app, base.ui);
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  closing.defer(() => server.stop());
  await agent.begin(server.url);
  const parts = closing.move();
  return {
    url: server.url,
    missing,
    routes: () => listRoutes(app),
    stop: () => parts.disposeAsync(),
    requiresKey: () => base.keys.token !== undefined || base.keys.apiKey !== undefined,
  };
}

async function prepare(
  options: AgentOptions,
  context: ServiceContext,
  closing: AsyncDisposableStack,
): Promise<Base> {
  const { logger, env, peers } = context;
  const directory = configDirectoryOf(options);
  const live = await openLiveConfig({ directory, file: configFileOf(options), env, logger });
  closing.defer(() => live.close());
  const keys = readKeys(options, live.config, live.secrets, env);
  checkExposure(options, keys, logger);
  const ui = options.headless && options.ui === 'full' ? 'console' : options.ui;
  if (ui === 'none' || options.headlessSetup) {
    await completeSetup(directory, modelSettings(options, live.config, live.secrets));
  }
  const places = await findPlaces(options, live.config, logger);
  return {
    options: withSwitchboard(options, peers),
    env,
    peers,
    operator: operatorOf(options, context),
    serviceToken: peers?.serviceToken ?? crypto.randomUUID(),
    directory,
    live,
    keys,
    ui,
    places,
    logger,
  };
}

/** Schedules go to the switchboard beside this service, where no other is named. */
function withSwitchboard(options: AgentOptions, peers: Peers | undefined): AgentOptions {
  const switchboard = peers?.find('switchboard');
  if (options.switchboardApiBase !== undefined || switchboard === undefined) return options;
  return {
    ...options,
    switchboardApiBase: switchboard.url,
    switchboardApiKey: options.switchboardApiKey ?? peers?.serviceToken,
  };
}

/** What `/healthz` and the console both tell. */
function facts({ directory, ui }: Base, { model }: Agent) {
  return { setup_complete: isSetupComplete(directory), ui, model: model.gateway.describe() };
}

function mountRoutes(app: App, base: Base, agent: Agent): void {
  const { options, live, directory, operator } = base;
  const { a2a, state, stores, feed, graph, model, shelf, telemetry, observers } = agent;
  const { engine } = a2a;
  const { agentName } = options;
  const scopeOf = scopesOf(base);
  mountGuards(app, base.keys, operator);
  mountLive(app, agent.changes);
  mountEvents(app, feed);
  const mayJoin = canJoin(base, state);
  mountChat(app, { engine, ...state, mayAnswer: canAnswer(base, state), mayJoin, isOpen: operator.isOpen });
  mountApprovals(app, { engine, checkpoints: state.checkpoints, operator });
  mountChats(app, { engine, chats: state.chats, recorder: agent.recorder, mayJoin });
  mountInbox(app, { inbox: stores.inbox, engine, feed });
  mountOpenAiApi(app, agentModel({ graph: () => graph.current(), observers, agentName, scopeOf }));
  const identity = { name: agentName, version: manifest.version, instance: instanceOf(options, live.config) };
  mountRuntime(app, {
    graph,
    engine,
    telemetry,
    observers,
    scopeOf,
    facts: () => ({ ...identity, ...facts(base, agent) }),
  });
  mountStores(app, () => stores);
  mountKnowledge(app, {
    store: () => (live.config.middleware.knowledge ? stores.knowledge : undefined),
    topK: () => live.config.knowledge.top_k,
    scopeOf,
  });
  mountAudit(app, () => stores.audit);
  mountSkills(app, shelf, () => agent.compiler.again());
  mountScheduler(app, () => (live.config.middleware.scheduler ? agent.scheduler : undefined));
  mountTasks(app, { engine, deliveries: (id) => a2a.push?.deliveries(id) ?? [] });
  mountDelegates(app, {
    delegates: () => agent.toolset.delegates,
    plugins: () => agent.toolset.pluginStates,
  });
  mountMcp(app, {
    name: agentName,
    version: manifest.version,
    tools: () => graph.graph?.tools ?? [],
    toolTimeoutMs: () => live.config.budget.tool_timeout_s * 1000,
    observe: (sessionId, event) => {
      for (const observer of observers) observer.turnEvent?.(sessionId, event);
    },
    isServing: () => live.config.mcp.serve,
    servers: () => agent.toolset.mcpStates,
    tryServer: (server) => agent.toolset.tryMcp(server),
  });
  const settings = (config = live.config) => modelSettings(options, config, live.secrets);
  mountConfig(app, {
    live,
    settings,
    secretVariables: secretVariables(options),
    replace: (text, key) => writeConfig(live, text, key),
    gateway: () => model.gateway,
    setUp: (given) => writeSetup(live, directory, settings(), given),
    isSetUp: () => isSetupComplete(directory),
  });
  a2a.mount(app);
}

function mountPages(app: Hono<AppEnv>, ui: AgentOptions['ui']): void {
  const directory = join(import.meta.dirname, 'dist');
  if (ui !== 'none') servePages(app, { directory, base: '/app', index: 'app.html' });
  // The page at /app names its assets relative to the root.
  if (ui === 'console') servePages(app, { directory: join(directory, 'assets'), base: '/assets' });
  if (ui === 'full') servePages(app, { directory });
}

const renderError: RenderError = (error, { path }) => ({
  body: { detail: error.message, ...(path.startsWith('/v1/') && openAiErrorBody(error)) },
});
