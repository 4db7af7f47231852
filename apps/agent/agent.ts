import { join } from 'node:path';
import { type A2aCredentials, createA2aServer } from '@trunkline/a2a';
import { type Environment, type Logger, secretValues } from '@trunkline/config';
import { createMetrics } from '@trunkline/http';
import { createTracing } from '@trunkline/llm';
import { ActivityFeed } from './activity/activity-feed.ts';
import { observeActivity } from './activity/activity-observer.ts';
import { createAgentMetrics } from './activity/agent-metrics.ts';
import { observeForAudit } from './activity/audit-observer.ts';
import { Telemetry } from './activity/telemetry.ts';
import { createGoalKeeper } from './goals/goal-keeper.ts';
import { createGoalVerifiers } from './goals/goal-verifiers.ts';
import { type AgentOptions, agentOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import type { Keys } from './routes/guards.ts';
import { chooseBackend } from './scheduler/choose-backend.ts';
import type { LiveConfig } from './setup/config-file.ts';
import { LiveModel } from './setup/live-model.ts';
import type { Places } from './setup/places.ts';
import { allPlugins } from './setup/plugins.ts';
import { createLoadSkill } from './skills/load-skill.ts';
import { type Skill, SkillShelf } from './skills/skill-shelf.ts';
import { bundledEmbedder } from './stores/knowledge/bundled-embedder.ts';
import { type Embedder, endpointEmbedder } from './stores/knowledge/embedder.ts';
import { openStores } from './stores/stores.ts';
import { programPath, Toolset } from './toolset.ts';
import { describeAgent } from './turns/agent-card.ts';
import { converse } from './turns/converse.ts';
import { TurnExecutor } from './turns/executor.ts';
import { compileGraph } from './turns/graph.ts';
import { GraphHolder } from './turns/graph-holder.ts';
import { humanTools } from './turns/human-tools.ts';
import { taskText } from './turns/task-text.ts';
import { TurnRunner } from './turns/turn-runner.ts';
import { openTurnState, type TurnState } from './turns/turn-state.ts';

/** What is settled before anything is built. */
export interface Base {
  options: AgentOptions;
  env: Environment | undefined;
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
  const { options, live, places, logger } = base;
  const telemetry = new Telemetry();
  const metrics = createMetrics({ prefix: options.agentName });
  const graph = new GraphHolder();
  const figures = createAgentMetrics(metrics, (name) => graph.knowsTool(name));
  const model = new LiveModel({
    options,
    live,
    logger,
    onCall(call) {
      telemetry.record(call);
      figures.modelCall(call);
    },
  });
  await startTracing(base, closing);
  const state = await openState(base, closing);
  const stores = await openStores({
    places,
    embedder: chooseEmbedder(live, model),
    secrets: secretsOf(base),
    enabled: { knowledge: live.config.middleware.knowledge },
    logger,
  });
  closing.defer(() => stores.close());
  const address = { own: '', public: '' };
  const scheduler = chooseBackend(options, {
    directory: places.scheduler,
    url: () => address.own,
    headers: () => headersFor(base.keys),
    logger,
  });
  closing.defer(() => scheduler?.stop());
  const toolset = new Toolset({
    options,
    env: base.env,
    workspace: places.workspace,
    stores,
    scheduler,
    plugins: () => allPlugins(base),
    inbound: async ({ contextId, text }) => taskText(await converse(a2a.engine, contextId, text)),
    logger,
  });
  closing.defer(() => toolset.close());

  const isDisabled = (name: string) => live.config.skills.disabled.includes(name);
  const shelf = new SkillShelf(join(base.directory, 'skills'), logger, isDisabled);
  const loadSkill = createLoadSkill((name) => shelf.find(name));
  const audit = stores.audit && observeForAudit(stores.audit, () => live.config.middleware.audit);
  const observers = [figures.turns, ...(audit ? [audit] : [])];
  const runner = new TurnRunner({
    ...state,
    graph: () => graph.current(),
    findSkill: (name) => shelf.find(name),
    memory: () => memoryOf(live, state),
    observers,
  });
  const goals = createGoalKeeper({
    goals: stores.goals,
    verifiers: createGoalVerifiers({
      workspace: places.workspace,
      path: programPath(base.env),
      graph: () => graph.current(),
    }),
    limits: () => live.config.goal,
  });
  let skills: Skill[] = [];
  const a2a = createTasks(base, new TurnExecutor(runner, state.checkpoints, goals), () => ({
    agentName: options.agentName,
    version: manifest.version,
    publicUrl: address.public,
    config: live.config,
    skills,
  }));
  closing.defer(() => a2a.stop());
  const feed = new ActivityFeed();
  for (const observer of [figures.tasks, observeActivity(feed), forgetCanceled(state)]) {
    a2a.engine.observe(observer);
  }

  const compile = async () => {
    skills = await shelf.list();
    const { config } = live;
    const { tools, approvals } = await toolset.open(config);
    graph.put(
      compileGraph({
        agentName: options.agentName,
        config,
        gateway: model.gateway,
        tools: skills.length === 0 ? tools : [...tools, loadSkill],
        humanTools,
        approvals,
        skills,
      }),
    );
  };
  // One after the other, so that the newest configuration is in force in the end.
  let compiling = Promise.resolve();
  live.onChange(() => {
    compiling = compiling.then(compile).then(
      () => logger.info('the configuration changed and is in force'),
      (error: unknown) => logger.error({ err: error }, 'the changed configuration could not be put in force'),
    );
  });
  closing.defer(() => compiling);
  const begin = async (url: string) => {
    address.own = url;
    address.public = options.publicUrl ?? url;
    await compile();
    scheduler?.start();
  };
  return {
    a2a,
    state,
    stores,
    scheduler,
    toolset,
    model,
    graph,
    shelf,
    metrics,
    telemetry,
    feed,
    observers,
    begin,
  };
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

/** A task that was cancelled while it waited will not be answered. */
function forgetCanceled({ checkpoints }: TurnState) {
  return {
    turnEnded({ id, state }: { id: string; state: string }) {
      if (state === 'canceled') checkpoints.delete(id);
    },
  };
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

function credentialsOf({ token, apiKey }: Keys): A2aCredentials {
  return { ...(token !== undefined && { bearer: token }), ...(apiKey !== undefined && { apiKey }) };
}

/** What the scheduler must show when it calls this service. */
function headersFor({ token, apiKey }: Keys): Record<string, string> {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
  };
}

/** Values that no log may show. */
function secretsOf({ options, live, keys }: Base): string[] {
  const { model, chat, cloud, repo } = live.secrets;
  return [
    ...secretValues(agentOptions, options),
    ...[keys.token, keys.apiKey, model.api_key, chat.bot_token, cloud.client_secret, repo.token],
  ].flatMap((secret) => secret || []);
}
