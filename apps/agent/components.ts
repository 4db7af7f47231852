import { join, sep } from 'node:path';
import { type A2aServer, createA2aServer } from '@trunkline/a2a';
import { createSenders } from '@trunkline/accounts';
import { secretValues } from '@trunkline/config';
import { inputModes } from '@trunkline/documents';
import { createMetrics } from '@trunkline/http';
import { isDirectOperator, type Principal } from '@trunkline/identity';
import { createTracing, type ModelCall } from '@trunkline/llm';
import {
  type ComponentValues,
  component,
  peerOrigins,
  ServiceAddress,
  type ServiceContext,
} from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import { ActivityFeed, observeActivity, openActivity, pairingNotice } from './activity/activity-feed.ts';
import { LiveChanges } from './activity/live-changes.ts';
import { createAgentMetrics, Telemetry } from './activity/telemetry.ts';
import { ActiveAgent, AgentFactory, callerCard, describeAgent, LiveModel } from './agent-factory.ts';
import {
  canAnswer,
  canContinue,
  chatDoor,
  chatInbound,
  chatPerson,
  createAnswerGate,
  taskAccess,
} from './callers.ts';
import { ChatRecorder } from './chats/chat-recorder.ts';
import { ChatTitles } from './chats/chat-titles.ts';
import { admitParts } from './content/agent-content.ts';
import { type OpenContent, openContent } from './content/open-content.ts';
import { type AgentContext, createContext, credentialsOf, headersFor } from './context.ts';
import { createGoalKeeper, createGoalVerifiers } from './goals/goal-keeper.ts';
import { type AgentOptions, agentOptions } from './options.ts';
import { operatorScope } from './owners.ts';
import manifest from './package.json' with { type: 'json' };
import { chooseBackend } from './scheduler/choose-backend.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import { type LiveConfig, openLiveConfig } from './setup/config-file.ts';
import { configDirectoryOf, configFileOf } from './setup/places.ts';
import { allPlugins } from './setup/plugins.ts';
import { SkillRepository } from './skills/skill-repository.ts';
import { observeForAudit } from './stores/audit-log.ts';
import { liveEmbedder } from './stores/knowledge/embedder.ts';
import { type AgentStores, openStores } from './stores/stores.ts';
import { mcpClientOptions } from './tools/mcp-sampling.ts';
import type { ToolModule } from './tools/tool-module.ts';
import { programPath, runsCommands } from './tools/workspace-tools.ts';
import { Toolset } from './toolset.ts';
import { converse, taskAnswer } from './turns/converse.ts';
import { TurnExecutor } from './turns/executor.ts';
import { promptOpener } from './turns/mcp-prompts.ts';
import { type ObserveTurn, TurnRunner } from './turns/turn-runner.ts';
import { forgetEnded, openTurnState, type TurnState } from './turns/turn-state.ts';

/** The running components of the agent, as its routes use them. */
export type Agent = ComponentValues<ReturnType<typeof agentComponents>>;

/** The components of the agent. Each names what it needs; the order of start and stop follows from that alone. */
export function agentComponents(
  options: AgentOptions,
  service: ServiceContext,
  modules: readonly ToolModule[],
) {
  const { logger } = service;
  const { agentName } = options;
  const live = component(
    'configuration',
    {},
    () => openConfig(options, service),
    (live) => live.close(),
  );
  const context = component('context', { live }, ({ live }) => createContext(options, service, live));
  const address = component('address', {}, () => new ServiceAddress(options));

  const activity = component(
    'activity database',
    { context },
    ({ context }) => openActivity(context.places.state),
    (activity) => activity.close(),
  );
  const feed = component('activity feed', { activity }, ({ activity }) => new ActivityFeed(activity, logger));
  const telemetry = component('telemetry', { activity }, ({ activity }) => new Telemetry(activity, logger));
  const metrics = component('metrics', {}, () => createMetrics({ prefix: agentName }));
  const active = component('active agent', {}, () => new ActiveAgent());
  const agentMetrics = component('agent metrics', { metrics, active }, ({ metrics, active }) =>
    createAgentMetrics(metrics, (name) => active.knowsTool(name)),
  );
  const tracing = component(
    'tracing',
    { context },
    ({ context }) => startTracing(context),
    (tracing) => tracing.stop(),
  );
  const model = component('model', { live, telemetry, agentMetrics, tracing }, (deps) => {
    const onCall = (call: ModelCall) => {
      deps.telemetry.record(call);
      deps.agentMetrics.modelCall(call);
    };
    return new LiveModel({ options, live: deps.live, env: service.env, logger, onCall });
  });

  const state = component(
    'turn state',
    { context },
    ({ context }) => openState(context),
    (state) => state.close(),
  );
  const stores = component(
    'stores',
    { context, model },
    ({ context, model }) => openAllStores(context, model),
    (stores) => stores.close(),
  );
  const contents = component(
    'files',
    { context, state, address },
    ({ context, state, address }) => openContent(context, state, address),
    (contents) => contents.close(),
  );
  const skills = component('skills', { context }, ({ context: { directory, live } }) => {
    const isDisabled = (name: string) => live.config.skills.disabled.includes(name);
    return new SkillRepository(join(directory, 'skills'), logger, isDisabled);
  });

  const scheduler = component(
    'scheduler',
    { context, address },
    ({ context, address }) => createScheduler(context, address),
    (scheduler) => scheduler?.stop(),
  );
  const toolset = component(
    'tools',
    { context, stores, scheduler, address, model, contents },
    ({ context, stores, scheduler, address, model, contents: { files, content } }) =>
      new Toolset({
        ...context,
        modules,
        workspace: context.places.workspace,
        stores,
        scheduler,
        files,
        plugins: () => allPlugins(context),
        mcp: mcpClientOptions({ ...context, address, model, content }),
      }),
    (toolset) => toolset.close(),
  );
  const factory = component(
    'agent factory',
    { context, live, model, toolset, skills, active },
    ({ context, ...deps }) =>
      new AgentFactory({ agentName, logger, policy: context.policy.for(agentName), ...deps }),
    (factory) => factory.settled(),
  );

  const changes = component('live changes', {}, () => new LiveChanges());
  const observe = component(
    'turn observer',
    { context, agentMetrics, stores, changes },
    ({ context: { live }, agentMetrics, stores: { audit }, changes }): ObserveTurn => {
      const recordCalls = audit && observeForAudit(audit, () => live.config.middleware.audit);
      return (...turn) => {
        agentMetrics.turns(...turn);
        recordCalls?.(...turn);
        changes.turns(...turn);
      };
    },
  );
  const recorder = component(
    'chat recorder',
    { state },
    ({ state }) => new ChatRecorder(state.chats, logger),
    (recorder) => recorder.stop(),
  );
  const titles = component(
    'chat titles',
    { context, state, model, changes },
    ({ context, state, model, changes }) =>
      new ChatTitles({
        chats: state.chats,
        gateway: () => model.gateway,
        policy: context.policy.for(agentName),
        onTitle: (owner) => changes.changed(['tasks'], owner),
        logger,
      }),
    (titles) => titles.close(),
  );
  const executor = component(
    'turn executor',
    { context, address, active, state, stores, skills, observe, toolset, contents, titles },
    createExecutor,
  );
  // Turns use the tools and the model: they end before those close.
  const a2a = component(
    'tasks',
    {
      ...{ context, address, active, executor, recorder, factory, state, stores, contents, scheduler },
      ...{ feed, agentMetrics, changes },
    },
    createTasks,
    (a2a) => a2a.stop(),
  );

  /** What reacts to events of two components. */
  const wiring = component(
    'wiring',
    { context, address, a2a, toolset, state, stores, feed, changes, live, model, factory },
    ({ context, address, a2a, toolset, state, stores, feed, changes, live, model, factory }) => {
      context.owners.limit((owner, bytes) => a2a.engine.refusal(owner, bytes));
      context.owners.onLinked((from, to) => {
        stores.knowledge?.adopt(from, to);
        state.memory.adopt(from, to);
      });
      const senders = createSenders({
        accounts: context.accounts,
        pairing: context.options.pairing,
        trustPage: () => `${address.publicUrl}/trust`,
        onRequest: (identity) => feed.publish(pairingNotice(identity), operatorScope),
      });
      const rules = { live: context.live, senders };
      const hear = chatInbound(
        (inbound) => chatPerson(rules, inbound),
        canContinue(context, state),
        async (message) => taskAnswer(await converse(a2a.engine, message, canAnswer(context, state))),
      );
      toolset.onInbound(hear, chatDoor(rules));
      live.onChange(() => {
        model.reload();
        factory.rebuild();
        void factory.settled().then(() => changes.changed(['config']));
      });
    },
  );

  return {
    ...{ context, address, live, metrics, telemetry, model, active, skills, stores, state, scheduler },
    ...{ toolset, factory, changes, observe, recorder, feed, contents, a2a, wiring },
  };
}

function openConfig(options: AgentOptions, { env, logger }: ServiceContext): Promise<LiveConfig> {
  const [directory, file] = [configDirectoryOf(options), configFileOf(options)];
  return openLiveConfig({ directory, file, env, logger });
}

function startTracing(context: AgentContext) {
  const { tracePublicKey: publicKey, traceSecretKey: secretKey, traceHost } = context.options;
  const secrets = () => secretsOf(context);
  return createTracing({ publicKey, secretKey, traceHost, secrets, logger: context.logger });
}

function openState({ options, live, places, logger }: AgentContext): Promise<TurnState> {
  return openTurnState({
    directory: places.state,
    memoryDirectory: places.memory,
    writeMemory: !options.disableMemory,
    keepDays: live.config.checkpoint.keep_days,
    resumeInterrupted: options.interruptedTasks === 'resume',
    logger,
  });
}

function openAllStores(context: AgentContext, model: LiveModel): Promise<AgentStores> {
  const { live, places, logger } = context;
  return openStores({
    places,
    embedder: liveEmbedder(model),
    room: context.owners.room,
    secrets: secretsOf(context),
    enabled: { knowledge: live.config.middleware.knowledge },
    logger,
  });
}

/** Values that no log may show. */
function secretsOf({ options, live, keys }: AgentContext): string[] {
  const { model, chat, cloud, repo } = live.secrets;
  return [
    ...secretValues(agentOptions, options),
    ...[keys.token, keys.apiKey, model.api_key, chat.bot_token, cloud.client_secret, repo.token],
  ].flatMap((secret) => secret || []);
}

function createScheduler(
  { options, places, keys, peers, serviceToken, accounts, logger }: AgentContext,
  address: ServiceAddress,
): ScheduleBackend | undefined {
  return chooseBackend(options, {
    ...{ directory: places.scheduler, home: options.trunklineHome, owner: places.state },
    isOwn: places.scheduler.startsWith(serviceHome(options.trunklineHome, 'agent') + sep),
    url: () => address.url,
    headers: () => headersFor(keys),
    current: (principal) => accounts.current(principal),
    ...{ serviceToken, logger, isPeer: peers?.find('switchboard')?.url === options.switchboardApiBase },
  });
}

interface ExecutorDeps {
  context: AgentContext;
  address: ServiceAddress;
  active: ActiveAgent;
  state: TurnState;
  stores: AgentStores;
  skills: SkillRepository;
  observe: ObserveTurn;
  toolset: Toolset;
  contents: OpenContent;
  titles: ChatTitles;
}

function createExecutor(deps: ExecutorDeps): TurnExecutor {
  const { context, address, active, state, stores, skills, observe, toolset, contents, titles } = deps;
  const { options, live, places, env, operator, owners, ui, policy, sandbox } = context;
  const graph = () => active.current();
  const consoleUrl = () => (ui === 'none' ? undefined : `${address.publicUrl}/app#/tasks`);
  const runner = new TurnRunner({
    ...state,
    graph,
    findSkill: (name) => skills.find(name),
    memory: () => memoryOf(live, state),
    observe,
    owners,
    consoleUrl,
    policy,
    openPrompt: promptOpener(toolset.mcp, policy.for(options.agentName)),
    files: (place) => contents.content.turnFiles(place),
  });
  const verifiers = createGoalVerifiers({
    workspace: places.workspace,
    path: programPath(env),
    mayRun: () => runsCommands(live.config),
    sandbox,
    graph,
  });
  return new TurnExecutor({
    runner,
    checkpoints: state.checkpoints,
    running: state.running,
    watch: createGoalKeeper({ goals: stores.goals, verifiers, limits: () => live.config.goal }),
    content: contents.content,
    sessions: state.sessions,
    gate: createAnswerGate({ access: operator, owners, consoleUrl }),
    isOperator: (principal: Principal) => operator.isOpen || isDirectOperator(principal),
    onCompleted: (turn) => titles.turnEnded(turn),
  });
}

function memoryOf({ config }: LiveConfig, { memory }: TurnState) {
  const { max_sessions: sessions, max_tokens: tokens } = config.memory;
  return config.middleware.memory ? { store: memory, sessions, tokens } : undefined;
}

interface TaskDeps extends Omit<ExecutorDeps, 'skills' | 'observe' | 'toolset' | 'titles'> {
  executor: TurnExecutor;
  recorder: ChatRecorder;
  scheduler: ScheduleBackend | undefined;
  feed: ActivityFeed;
  agentMetrics: ReturnType<typeof createAgentMetrics>;
  changes: LiveChanges;
}

function createTasks(deps: TaskDeps): A2aServer {
  const { context, address, active, executor, recorder, state, stores, contents, scheduler } = deps;
  const { feed, agentMetrics, changes } = deps;
  const { options, live, keys, places, peers, logger } = context;
  const card = () => ({
    ...describeAgent(options.agentName, live.config, active.skills),
    version: manifest.version,
    inputModes,
    publicUrl: address.publicUrl,
    grpcAddress: address.grpcAddress,
  });
  const kept = [stores, state.sessions, state.chats, state.responses, contents.files];
  const keptBesides = (owner: string) => kept.reduce((sum, store) => sum + store.bytesOf(owner), 0);
  return createA2aServer({
    directory: places.state,
    executor: state.responses.runningTasksOf(executor),
    admit: admitParts,
    access: taskAccess(context, state, scheduler),
    quotaBytes: options.quotaMb * 2 ** 20,
    keptBesides,
    current: (principal) => context.accounts.current(principal),
    observers: [recorder, agentMetrics.tasks, observeActivity(feed), forgetEnded(state), changes.tasks],
    card,
    extendedCard: (principal) => callerCard(principal, active, options),
    signingHome: options.trunklineHome,
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
