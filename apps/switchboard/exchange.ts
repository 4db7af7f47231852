import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bus } from '@trunkline/bus';
import { type Environment, type Logger, readVariable, secretStoreOf } from '@trunkline/config';
import { type ModelGateway, type Tool, usualSilenceMs } from '@trunkline/llm';
import type { StepLog } from '@trunkline/loop';
import type { Policy } from '@trunkline/policy';
import type { Sandbox } from '@trunkline/sandbox';
import { FileMarks } from '@trunkline/tools';
import { type AgentParts, createAgentExecutor, toolsOfAgents } from './agents/agent-executor.ts';
import { createStepStore } from './agents/step-store.ts';
import { createSkillBroker, type SkillBroker } from './broker/skill-broker.ts';
import type { Peers } from './cluster/peers.ts';
import type { SealExchange } from './cluster/seal-exchange.ts';
import type { MessageFiles } from './content/message-files.ts';
import { startCommands } from './control/commands.ts';
import { ControlPlane } from './control/control-plane.ts';
import type { Seal } from './control/seal.ts';
import { createTurnMemory, startTurnLog } from './conversations/conversation-store.ts';
import { AgentLimiter } from './dispatch/agent-limiter.ts';
import { Cooldowns } from './dispatch/agent-queues.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { createLongTasks, type LongTasks } from './dispatch/long-tasks.ts';
import { createOtherWorkers } from './dispatch/other-workers.ts';
import { ExecutorRegistry } from './dispatch/registry.ts';
import { type AbTests, createAbTests } from './experiments/ab-tests.ts';
import type { ApprovalRules } from './human/approval-rules.ts';
import { HumanInput } from './human/human-input.ts';
import { createKeptAnswers } from './human/shared-questions.ts';
import { createSurfaceQuestions } from './human/surface-questions.ts';
import { createIncidentRepository, type IncidentRepository } from './incidents/incident-repository.ts';
import { createMcpServers, type McpServers } from './mcp/mcp-servers.ts';
import type { SwitchboardOptions } from './options.ts';
import type { ProjectDirectory } from './projects/registry.ts';
import { Conversations, type RoutingDeps } from './router/decide.ts';
import { createRouteRunner } from './router/route-runner.ts';
import { startRouter } from './router/router.ts';
import type { Stores } from './stores.ts';
import type { SurfaceSenders } from './surfaces/senders.ts';
import type { Workspace } from './workspace/workspace.ts';

export interface ExchangeSettings {
  options: SwitchboardOptions;
  home: string;
  env: Environment;
  bus: Bus;
  workspace: Workspace;
  stores: Stores;
  files: MessageFiles;
  peers: Pick<Peers, 'offer' | 'ask' | 'askAll' | 'isGone'>;
  projects: ProjectDirectory;
  /** Resolves when the workspace has the changes of other switchboards. */
  catchUp: () => Promise<void>;
  /** Plugins' tools for every agent with tools. */
  agentTools: () => Tool[];
  gateway: ModelGateway;
  approvals: ApprovalRules;
  senders: Pick<SurfaceSenders, 'refusalOf'>;
  policy: Policy;
  sandbox: Sandbox;
  /** Seals answers that are kept for other switchboards. */
  seal: Seal;
  /** Opens sealed commands and answers. */
  sealExchange: SealExchange;
  logger: Logger;
}

/** All components between a message and its answer. */
export interface Exchange {
  routing: RoutingDeps;
  incidents: IncidentRepository;
  humanInput: HumanInput;
  controlPlane: ControlPlane;
  mcpServers: McpServers;
  limiter: AgentLimiter;
  longTasks: LongTasks;
  abTests: AbTests;
  /** Steps of agents' turns. */
  steps: StepLog;
  /** Undefined when DISABLE_SKILL_BROKER is set. */
  broker: SkillBroker | undefined;
  /** What agents can do here, for whoever explains policy. */
  agentTools(): Tool[];
  start(): Promise<void>;
  /** Call after the bus has stopped. */
  close(): Promise<void>;
}

/** PATH for agents' commands when none is set. */
const programs = '/usr/local/bin:/usr/bin:/bin';
/** Requests that wait in memory per running one; the rest waits in the journal. */
const waitingForEach = 7;

/** Connects router, dispatcher, agents and flows. */
export function createExchange(settings: ExchangeSettings): Exchange {
  const { options, env, bus, workspace, projects, sealExchange, stores, files, logger } = settings;
  const registry = new ExecutorRegistry();
  const { questionsElsewhere: copies } = stores;
  const humanInput = new HumanInput(
    stores.questions,
    bus,
    settings.approvals,
    (consent) => settings.policy.recordConsent(consent),
    copies && {
      copies,
      isGone: (node) => settings.peers.isGone(node),
      answers: createKeptAnswers(bus, { seal: settings.seal, exchange: sealExchange }, logger),
    },
  );
  const questions = createSurfaceQuestions({ bus, humanInput, logger });
  const controlPlane = new ControlPlane({
    directory: workspace.directory,
    changes: stores.changes,
    env,
    shared: stores.sharedFiles,
  });
  const incidents = createIncidentRepository({ workspace, controlPlane, bus, catchUp: settings.catchUp });
  const mcpServers = createMcpServers({
    servers: workspace.mcpServers,
    registry,
    store: stores.skills,
    logger,
    sandbox: settings.sandbox,
    policy: settings.policy,
    files,
    gateway: settings.gateway,
    secrets: secretStoreOf(env),
  });
  const concurrency = options.executorConcurrency;
  const skillTimeoutMs = options.skillTimeoutMs ?? usualSilenceMs;
  const limiter = new AgentLimiter({
    running: concurrency,
    waiting: concurrency * waitingForEach,
    delegationWaitMs: options.delegationWaitMs,
  });
  const broker = options.disableSkillBroker
    ? undefined
    : createSkillBroker({
        agents: workspace.externalAgents,
        expected: workspace.expectedAgents,
        store: stores.skills,
        registry,
        limiter,
        timeoutMs: skillTimeoutMs,
        memory: stores.conversations,
        files,
        isApprover: settings.approvals.isApprover,
        logger,
      });
  const runner = createRouteRunner({ bus, routes: workspace.routes, logger });
  const abTests = createAbTests(stores.experiments, registry, bus);
  const { publicUrl } = options;
  const dispatcher = new Dispatcher({
    bus,
    registry,
    flows: stores.flows,
    tasks: stores.tasks,
    cooldowns: new Cooldowns(env),
    limiter,
    arms: abTests,
    skills: stores.skills,
    queueConcurrency: concurrency * (1 + waitingForEach),
    executorWaitMs: options.executorWaitMs,
    timeoutMs: skillTimeoutMs,
    totalTimeoutMs: options.skillTotalTimeoutMs,
    others: createOtherWorkers({
      peers: settings.peers,
      flows: stores.flows,
      takeoverMs: options.takeoverMs,
    }),
    senderRefusal: settings.senders.refusalOf,
    callbackUrl: publicUrl ? (id) => `${publicUrl.replace(/\/+$/, '')}/api/a2a/callback/${id}` : undefined,
    logger,
  });
  const longTasks = createLongTasks({
    store: stores.tasks,
    registry,
    pollMs: options.taskPollMs,
    isLive: (task) => dispatcher.isLive(task),
    finish: (task, result) => dispatcher.finish(task, result),
    logger,
  });
  const conversations = new Conversations(stores.conversations);
  const routing = { registry, workspace, projects, conversations, defaultSkill: options.defaultSkill };
  const directory = agentFiles(settings.home);
  const steps = createStepStore(bus, logger);
  const agentParts: AgentParts = {
    bus,
    steps,
    gateway: settings.gateway,
    registry,
    limiter,
    incidents,
    projects,
    ceremonies: workspace.ceremonies,
    humanInput,
    policy: settings.policy,
    memory: createTurnMemory(stores.conversations),
    files,
    builtIn: {
      directory,
      marks: new FileMarks(options.trunklineHome),
      shell: options.shell,
      path: readVariable('PATH', env) ?? programs,
      sandbox: settings.sandbox,
    },
    moreTools: (agent, ask) => [...settings.agentTools(), ...mcpServers.toolsFor(agent, ask)],
    turnTimeoutMs: options.skillTimeoutMs,
  };
  const refreshAgents = () => {
    if (options.disableAgentRuntime) return;
    mkdirSync(directory, { recursive: true });
    const executors = workspace.agents().map((agent) => createAgentExecutor(agent, agentParts));
    registry.replace('agents', executors);
  };
  const refresh = () => {
    refreshAgents();
    broker?.refresh();
    void runner.refresh();
    void mcpServers.refresh();
  };
  return {
    routing,
    incidents,
    broker,
    humanInput,
    controlPlane,
    mcpServers,
    limiter,
    longTasks,
    abTests,
    steps,
    agentTools: () => toolsOfAgents(workspace.agents(), agentParts),
    async start() {
      // The registry must be filled before the dispatcher reads its queue.
      refreshAgents();
      workspace.onChange(refresh);
      broker?.start();
      mcpServers.restore();
      await runner.refresh();
      void mcpServers.refresh();
      await abTests.start();
      await startTurnLog(bus, stores.conversations);
      await dispatcher.start();
      longTasks.start();
      await sealExchange.start();
      const openSealed = (sealed: string, about: string) => sealExchange.open(sealed, about);
      await startCommands({ bus, controlPlane, openSealed, catchUp: settings.catchUp, logger });
      await humanInput.start();
      await questions.start();
      await startRouter(bus, routing, questions);
    },
    async close() {
      broker?.close();
      steps.close();
      await Promise.all([longTasks.close(), runner.close(), mcpServers.close()]);
    },
  };
}

/** The one directory that the file tools of agents may touch. */
export function agentFiles(home: string): string {
  return join(home, 'files');
}
