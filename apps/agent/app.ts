import { join } from 'node:path';
import { type A2aCredentials, createA2aServer } from '@trunkline/a2a';
import { type Logger, secretValues } from '@trunkline/config';
import {
  type AppEnv,
  createApp,
  createMetrics,
  listRoutes,
  type RenderError,
  type RouteEntry,
  serve,
  servePages,
} from '@trunkline/http';
import { createTracing, type ModelGateway, type Tool } from '@trunkline/llm';
import type { Missing, Service, Surroundings } from '@trunkline/service';
import { createCalculator, createCurrentTime } from '@trunkline/tools';
import type { Hono } from 'hono';
import { ActivityFeed } from './activity/activity-feed.ts';
import { observeActivity } from './activity/activity-observer.ts';
import { createAgentMetrics } from './activity/agent-metrics.ts';
import { observeForAudit } from './activity/audit-observer.ts';
import { Telemetry } from './activity/telemetry.ts';
import { openAiErrorBody } from './openai/errors.ts';
import { type AgentOptions, agentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountChat } from './routes/chat.ts';
import { mountEvents } from './routes/events.ts';
import { type Keys, mountGuards } from './routes/guards.ts';
import { healthReport } from './routes/health.ts';
import { mountInbox } from './routes/inbox.ts';
import { mountOpenAi } from './routes/openai.ts';
import { checkExposure, readKeys } from './setup/access.ts';
import { type LiveConfig, openLiveConfig } from './setup/config-file.ts';
import { LiveModel } from './setup/live-model.ts';
import { configDirectoryOf, configFileOf, findPlaces, type Places } from './setup/places.ts';
import { completeSetup, isSetupComplete, modelSettings } from './setup/setup.ts';
import { type Skill, SkillShelf } from './skills/skill-shelf.ts';
import { AuditLog } from './stores/audit-log.ts';
import { InboxStore } from './stores/inbox-store.ts';
import { describeAgent } from './turns/agent-card.ts';
import { TurnExecutor } from './turns/executor.ts';
import { compileGraph } from './turns/graph.ts';
import { GraphHolder } from './turns/graph-holder.ts';
import { humanTools } from './turns/human-tools.ts';
import { TurnRunner } from './turns/turn-runner.ts';
import { openTurnState, type TurnState } from './turns/turn-state.ts';

export interface AgentService extends Service {
  /** Every method and path that it answers. */
  routes(): RouteEntry[];
}

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: AgentOptions, surroundings: Surroundings): Promise<AgentService> {
  await using closing = new AsyncDisposableStack();
  const { logger, services = () => [], portVariable = '--port' } = surroundings;
  const base = await prepare(options, surroundings, closing);
  const agent = await createAgent(base, closing);
  const missing = () => missingParts(agent.model.gateway);
  const app = createApp({
    service: 'agent',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: agent.metrics,
    renderError,
    health: () =>
      healthReport(agent.graph.compiled, {
        setup_complete: isSetupComplete(base.directory),
        ui: base.ui,
        model: agent.model.gateway.describe(),
        missing: missing(),
        services: services(),
      }),
  });
  mountRoutes(app, agent, base.keys);
  mountPages(app, base.ui);
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  closing.defer(() => server.stop());
  await agent.begin(options.publicUrl ?? server.url);
  const parts = closing.move();
  return { url: server.url, missing, routes: () => listRoutes(app), stop: () => parts.disposeAsync() };
}

/** What is settled before anything is built. */
interface Base {
  options: AgentOptions;
  directory: string;
  live: LiveConfig;
  keys: Keys;
  ui: AgentOptions['ui'];
  places: Places;
  logger: Logger;
}

async function prepare(
  options: AgentOptions,
  { logger, env }: Surroundings,
  closing: AsyncDisposableStack,
): Promise<Base> {
  const directory = configDirectoryOf(options);
  const live = await openLiveConfig({ directory, file: configFileOf(options), env, logger });
  closing.defer(() => live.close());
  const keys = readKeys(options, live.config, live.secrets, env);
  checkExposure(options, keys, logger);
  const ui = options.headless && options.ui === 'full' ? 'console' : options.ui;
  if (ui === 'none' || options.headlessSetup) {
    await completeSetup(directory, modelSettings(options, live.config, live.secrets));
  }
  return {
    options,
    directory,
    live,
    keys,
    ui,
    places: await findPlaces(options, live.config, logger),
    logger,
  };
}

type Agent = Awaited<ReturnType<typeof createAgent>>;

async function createAgent(base: Base, closing: AsyncDisposableStack) {
  const { options, directory, live, places, logger } = base;
  const tracing = await createTracing({
    publicKey: options.tracePublicKey,
    secretKey: options.traceSecretKey,
    traceHost: options.traceHost,
    logger,
  });
  closing.defer(() => tracing.stop());
  const state = await openTurnState({
    directory: places.state,
    memoryDirectory: places.memory,
    writeMemory: !options.disableMemory,
    keepDays: live.config.checkpoint.keep_days,
    logger,
  });
  closing.defer(() => state.close());
  const telemetry = new Telemetry();
  const metrics = createMetrics({ prefix: options.agentName });
  const figures = createAgentMetrics(metrics);
  const model = new LiveModel({
    options,
    live,
    logger,
    onCall(call) {
      telemetry.record(call);
      figures.modelCall(call);
    },
  });
  const graph = new GraphHolder();
  const shelf = new SkillShelf(join(directory, 'skills'), logger);
  const audit = new AuditLog({ path: places.audit, secrets: secretsOf(base), logger });
  const observers = [figures.turns, observeForAudit(audit, () => live.config.middleware.audit)];
  const inbox = new InboxStore(places.inbox);
  closing.defer(() => inbox.close());
  const runner = new TurnRunner({
    ...state,
    graph: () => graph.current(),
    findSkill: (name) => shelf.find(name),
    memory: () => memoryOf(live, state),
    observers,
  });
  const card = { publicUrl: '', skills: [] as Skill[] };
  const a2a = createTaskServer(base, new TurnExecutor(runner, state.checkpoints), () => ({
    agentName: options.agentName,
    version: manifest.version,
    config: live.config,
    ...card,
  }));
  closing.defer(() => a2a.stop());
  const feed = new ActivityFeed();
  a2a.engine.observe(figures.tasks);
  a2a.engine.observe(observeActivity(feed));
  a2a.engine.observe({
    turnEnded: ({ id, state: ended }) => ended === 'canceled' && state.checkpoints.delete(id),
  });
  const compile = async () => {
    const tools: Tool[] = [createCurrentTime(), createCalculator()];
    card.skills = await shelf.list();
    const { gateway } = model;
    graph.put(
      compileGraph({ agentName: options.agentName, config: live.config, gateway, tools, humanTools }),
    );
  };
  live.onChange(() => {
    compile().then(
      () => logger.info('the configuration changed and is in force'),
      (error: unknown) => logger.error({ err: error }, 'the changed configuration could not be put in force'),
    );
  });
  const begin = (publicUrl: string) => {
    card.publicUrl = publicUrl;
    return compile();
  };
  const { agentName } = options;
  return { a2a, agentName, state, model, graph, metrics, telemetry, feed, inbox, observers, begin };
}

function createTaskServer(
  { options, keys, places, logger }: Base,
  executor: TurnExecutor,
  card: () => Parameters<typeof describeAgent>[0],
) {
  return createA2aServer({
    directory: places.state,
    executor,
    card: () => describeAgent(card()),
    credentials: credentialsOf(keys),
    allowedOrigins: options.allowedOrigins,
    push: { allowedHosts: options.pushAllowedHosts, allowedCidrs: options.pushAllowedCidrs },
    parkedTasks: options.parkedTasks,
    logger,
  });
}

function mountRoutes(app: Hono<AppEnv>, agent: Agent, keys: Keys): void {
  const { a2a, state, feed, agentName, observers } = agent;
  mountGuards(app, keys);
  mountEvents(app, feed);
  mountChat(app, { engine: a2a.engine, sessions: state.sessions, memory: state.memory });
  mountInbox(app, { inbox: agent.inbox, engine: a2a.engine, feed });
  mountOpenAi(app, { graph: () => agent.graph.current(), observers, agentName });
  app.route('/', a2a.routes);
}

function mountPages(app: Hono<AppEnv>, ui: AgentOptions['ui']): void {
  const directory = join(import.meta.dirname, 'dist');
  if (ui !== 'none') servePages(app, { directory, base: '/app' });
  if (ui === 'full') servePages(app, { directory });
}

const renderError: RenderError = (error, { path }) => ({
  body: { detail: error.message, ...(path.startsWith('/v1/') && openAiErrorBody(error)) },
});

/** Values that no log may show. */
function secretsOf({ options, live, keys }: Base): string[] {
  const { model, chat, cloud, repo } = live.secrets;
  return [
    ...secretValues(agentOptions, options),
    ...[keys.token, keys.apiKey, model.api_key, chat.bot_token, cloud.client_secret, repo.token],
  ].flatMap((secret) => secret || []);
}

function memoryOf({ config }: LiveConfig, { memory }: TurnState) {
  const { max_sessions: sessions, max_tokens: tokens } = config.memory;
  return config.middleware.memory ? { store: memory, sessions, tokens } : undefined;
}

function credentialsOf({ token, apiKey }: Keys): A2aCredentials {
  return { ...(token !== undefined && { bearer: token }), ...(apiKey !== undefined && { apiKey }) };
}

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
