import { join } from 'node:path';
import { createA2aServer, type TaskObserver } from '@trunkline/a2a';
import { type Environment, type Logger, secretValues } from '@trunkline/config';
import { createMetrics } from '@trunkline/http';
import { isDirectOperator, type OperatorAccess, type Principal } from '@trunkline/identity';
import { createTracing, type ModelCall } from '@trunkline/llm';
import { type Peers, peerOrigins } from '@trunkline/service';
import type { Database } from '@trunkline/storage';
import { openActivity } from './activity/activity-database.ts';
import { ActivityFeed } from './activity/activity-feed.ts';
import { observeActivity } from './activity/activity-observer.ts';
import { createAgentMetrics } from './activity/agent-metrics.ts';
import { observeForAudit } from './activity/audit-observer.ts';
import { LiveChanges } from './activity/live-changes.ts';
import { Telemetry } from './activity/telemetry.ts';
import { createAnswerGate } from './approvals/answer-gate.ts';
import { canAnswer, chatPerson, ownersOf, scopesOf } from './callers.ts';
import { ChatRecorder, platformMetadata } from './chats/chat-recorder.ts';
import { Compiler } from './compiler.ts';
import { createGoalKeeper } from './goals/goal-keeper.ts';
import { createGoalVerifiers } from './goals/goal-verifiers.ts';
import { type AgentOptions, agentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import type { Keys } from './routes/guards.ts';
import { chooseBackend } from './scheduler/choose-backend.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import { credentialsOf, headersFor } from './setup/access.ts';
import type { LiveConfig } from './setup/config-file.ts';
import { LiveModel } from './setup/live-model.ts';
import type { Places } from './setup/places.ts';
import { allPlugins } from './setup/plugins.ts';
import { SkillShelf } from './skills/skill-shelf.ts';
import { bundledEmbedder } from './stores/knowledge/bundled-embedder.ts';
import { type Embedder, endpointEmbedder } from './stores/knowledge/embedder.ts';
import { type AgentStores, openStores } from './stores/stores.ts';
import { programPath, runsCommands, Toolset } from './toolset.ts';
import { describeAgent } from './turns/agent-card.ts';
import { converse } from './turns/converse.ts';
import { TurnExecutor } from './turns/executor.ts';
import { GraphHolder } from './turns/graph-holder.ts';
import { taskText } from './turns/task-text.ts';
import { type TurnObserver, TurnRunner } from './turns/turn-runner.ts';
import { forgetCanceled, openTurnState, type TurnState } from './turns/turn-state.ts';

/** What is settled before anything is built. */
export interface Base {
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  operator: OperatorAccess;
  /** Shown by our own services, and by this one when it calls itself. */
  serviceToken: string;
  /** The folder of the configuration. */
  directory: string;
  live: LiveConfig;
  keys: Keys;
  ui: AgentOptions['ui'];
  places: Places;
  logger: Logger;
}

export type Agent = Awaited<ReturnType<typeof createAgent>>;

/** Builds the parts of the agent and joins them; `begin` makes it ready once its address is known. */
export async function createAgent(base: Base, closing: AsyncDisposableStack) {
  const { options, live, logger } = base;
  const { agentName } = options;
  const address = { own: '', public: '' };
  const activity = openActivity(base.places.state);
  closing.defer(() => activity.close());
  const measured = measure(base, activity);
  await startTracing(base, closing);
  const state = await openState(base, closing);
  const stores = await openAllStores(base, measured.model, closing);
  const scheduler = openScheduler(base, () => address.own, closing);
  const toolset = new Toolset({
    ...base,
    workspace: base.places.workspace,
    stores,
    scheduler,
    plugins: () => allPlugins(base),
    inbound: async ({ contextId, text, author }) => {
      const mayAnswer = canAnswer(base, state);
      const principal = chatPerson(base, author);
      const message = { contextId, text, principal, metadata: platformMetadata };
      return taskText(await converse(a2a.engine, message, mayAnswer));
    },
    onMoreTools: () => compiler.again(),
  });
  closing.defer(() => toolset.close());
  const shelf = openShelf(base);
  const { graph, model } = measured;
  const compiler = new Compiler({ agentName, live, model, toolset, shelf, graph, logger });
  const changes = new LiveChanges();
  const observers = [...observersOf(base, measured, stores), changes.turns];
  const recorder = new ChatRecorder(state.chats, base.logger);
  closing.defer(() => recorder.stop());
  const consoleUrl = () => (base.ui === 'none' ? undefined : `${address.public}/app#/tasks`);
  const executor = createExecutor(base, { graph, state, stores, shelf, observers, consoleUrl });
  const a2a = createTasks(base, executor, recorder, () => ({
    agentName,
    version: manifest.version,
    publicUrl: address.public,
    config: live.config,
    skills: compiler.skills,
  }));
  closing.defer(() => a2a.stop());
  closing.defer(() => compiler.settled());
  const feed = new ActivityFeed(activity, logger);
  for (const observer of [
    measured.figures.tasks,
    observeActivity(feed),
    forgetCanceled(state),
    changes.tasks,
  ]) {
    a2a.engine.observe(observer);
  }
  live.onChange(() => void compiler.settled().then(() => changes.changed('config')));
  const begin = async (url: string) => {
    address.own = url;
    address.public = options.publicUrl ?? url;
    await compiler.compile();
    scheduler?.start();
  };
  return {
    ...measured,
    a2a,
    recorder,
    changes,
    compiler,
    state,
    stores,
    scheduler,
    toolset,
    shelf,
    feed,
    observers,
    begin,
  };
}

type Measured = ReturnType<typeof measure>;

/** The model with all that counts its calls. */
function measure({ options, live, logger }: Base, activity: Database) {
  const graph = new GraphHolder();
  const telemetry = new Telemetry(activity, logger);
  const metrics = createMetrics({ prefix: options.agentName });
  const figures = createAgentMetrics(metrics, (name) => graph.knowsTool(name));
  const onCall = (call: ModelCall) => {
    telemetry.record(call);
    figures.modelCall(call);
  };
  return { graph, telemetry, metrics, figures, model: new LiveModel({ options, live, logger, onCall }) };
}

async function openAllStores(
  base: Base,
  model: LiveModel,
  closing: AsyncDisposableStack,
): Promise<AgentStores> {
  const { live, places, logger } = base;
  const stores = await openStores({
    places,
    embedder: chooseEmbedder(live, model),
    secrets: secretsOf(base),
    enabled: { knowledge: live.config.middleware.knowledge },
    logger,
  });
  closing.defer(() => stores.close());
  return stores;
}

function openScheduler(
  { options, places, keys, serviceToken, logger }: Base,
  url: () => string,
  closing: AsyncDisposableStack,
): ScheduleBackend | undefined {
  const headers = () => headersFor(keys);
  const directory = places.scheduler;
  const scheduler = chooseBackend(options, { directory, url, headers, serviceToken, logger });
  closing.defer(() => scheduler?.stop());
  return scheduler;
}

function openShelf({ directory, live, logger }: Base): SkillShelf {
  const isDisabled = (name: string) => live.config.skills.disabled.includes(name);
  return new SkillShelf(join(directory, 'skills'), logger, isDisabled);
}

function observersOf({ live }: Base, { figures }: Measured, { audit }: AgentStores): TurnObserver[] {
  const isAudited = () => live.config.middleware.audit;
  return audit === undefined ? [figures.turns] : [figures.turns, observeForAudit(audit, isAudited)];
}

interface ExecutorParts {
  graph: GraphHolder;
  state: TurnState;
  stores: AgentStores;
  shelf: SkillShelf;
  observers: readonly TurnObserver[];
  consoleUrl(): string | undefined;
}

function createExecutor(
  base: Base,
  { graph: holder, state, stores, shelf, observers, consoleUrl }: ExecutorParts,
): TurnExecutor {
  const { live, places, env, operator } = base;
  const graph = () => holder.current();
  const findSkill = (name: string) => shelf.find(name);
  const memory = () => memoryOf(live, state);
  const [scopeOf, ownerOf] = [scopesOf(base), ownersOf(base)];
  const where = { scopeOf, ownerOf, consoleUrl };
  const runner = new TurnRunner({ ...state, graph, findSkill, memory, observers, ...where });
  const mayRun = () => runsCommands(live.config);
  const verifiers = createGoalVerifiers({
    workspace: places.workspace,
    path: programPath(env),
    mayRun,
    graph,
  });
  const limits = () => live.config.goal;
  const watch = createGoalKeeper({ goals: stores.goals, verifiers, limits });
  const gate = createAnswerGate({ access: operator, ownerOf, consoleUrl });
  const isOperator = (principal: Principal) => operator.isOpen || isDirectOperator(principal);
  return new TurnExecutor({ runner, checkpoints: state.checkpoints, watch, gate, isOperator });
}

async function startTracing({ options, logger }: Base, closing: AsyncDisposableStack): Promise<void> {
  const tracing = await createTracing({
    publicKey: options.tracePublicKey,
    secretKey: options.traceSecretKey,
    traceHost: options.traceHost,
    logger,
  });
  closing.defer(() => tracing.stop());
}

async function openState(
  { options, live, places, logger }: Base,
  closing: AsyncDisposableStack,
): Promise<TurnState> {
  const state = await openTurnState({
    directory: places.state,
    memoryDirectory: places.memory,
    writeMemory: !options.disableMemory,
    keepDays: live.config.checkpoint.keep_days,
    logger,
  });
  closing.defer(() => state.close());
  return state;
}

function createTasks(
  { options, keys, places, peers, logger }: Base,
  executor: TurnExecutor,
  observer: TaskObserver,
  card: () => Parameters<typeof describeAgent>[0],
) {
  return createA2aServer({
    directory: places.state,
    executor,
    observer,
    card: () => describeAgent(card()),
    credentials: credentialsOf(keys),
    allowedOrigins: options.allowedOrigins,
    push: {
      allowedHosts: options.pushAllowedHosts,
      allowedCidrs: options.pushAllowedCidrs,
      allowedOrigins: () => peerOrigins(peers),
    },
    parkedTasks: options.parkedTasks,
    logger,
  });
}

function chooseEmbedder({ config }: LiveConfig, { gateway }: LiveModel): Embedder | undefined {
  const { embeddings } = config.knowledge;
  if (embeddings === 'off') return undefined;
  if (embeddings === 'bundled' || gateway.embed === undefined) return bundledEmbedder();
  return endpointEmbedder(embeddings, gateway.embed);
}

function memoryOf({ config }: LiveConfig, { memory }: TurnState) {
  const { max_sessions: sessions, max_tokens: tokens } = config.memory;
  return config.middleware.memory ? { store: memory, sessions, tokens } : undefined;
}

/** Values that no log may show. */
function secretsOf({ options, live, keys }: Base): string[] {
  const { model, chat, cloud, repo } = live.secrets;
  return [
    ...secretValues(agentOptions, options),
    ...[keys.token, keys.apiKey, model.api_key, chat.bot_token, cloud.client_secret, repo.token],
  ].flatMap((secret) => secret || []);
}
