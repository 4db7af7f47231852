import { join } from 'node:path';
import type { Bus } from '@trunkline/bus';
import type { Environment, Logger } from '@trunkline/config';
import type { ModelGateway } from '@trunkline/llm';
import { createAgentExecutor } from './agents/agent-executor.ts';
import { availableTools } from './agents/agent-tools.ts';
import { SkillBroker } from './broker/skill-broker.ts';
import { ChangeStore } from './control/change-store.ts';
import { startCommands } from './control/commands.ts';
import { Registrar } from './control/registrar.ts';
import type { ProjectDirectory } from './core/project-directory.ts';
import { Cooldowns } from './dispatch/cooldowns.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { ExecutorRegistry } from './dispatch/registry.ts';
import { FlowStore } from './flows/flow-store.ts';
import { HumanDesk } from './human/human-desk.ts';
import { QuestionStore } from './human/question-store.ts';
import { IncidentBook } from './incidents/incident-book.ts';
import { McpServers } from './mcp/mcp-client.ts';
import type { SwitchboardOptions } from './options.ts';
import { Conversations } from './router/conversations.ts';
import type { Surroundings } from './router/decide.ts';
import { RouteRunner } from './router/route-runner.ts';
import { startRouter } from './router/router.ts';
import type { Workspace } from './workspace/workspace.ts';

export interface ExchangeSettings {
  options: SwitchboardOptions;
  home: string;
  env: Environment;
  bus: Bus;
  workspace: Workspace;
  projects: ProjectDirectory;
  gateway: ModelGateway;
  logger: Logger;
}

/** The parts between a message and its answer. */
export interface Exchange {
  routing: Surroundings;
  flows: FlowStore;
  incidents: IncidentBook;
  desk: HumanDesk;
  changes: ChangeStore;
  registrar: Registrar;
  mcpServers: McpServers;
  /** Undefined when DISABLE_SKILL_BROKER is set. */
  broker: SkillBroker | undefined;
  /** Begins to take messages. */
  begin(): Promise<void>;
}

const sweepEveryMs = 60 * 60 * 1000;

/** Puts router, dispatcher, agents and flows together. */
export function createExchange(settings: ExchangeSettings, closing: AsyncDisposableStack): Exchange {
  const { options, env, bus, workspace, logger } = settings;
  const flows = openFlows(settings, closing);
  const registry = new ExecutorRegistry();
  const desk = openDesk(settings, closing);
  const changes = new ChangeStore(join(settings.home, 'changes.db'));
  closing.defer(() => changes.close());
  const registrar = new Registrar({ directory: workspace.directory, changes, env });
  const incidents = new IncidentBook(workspace, registrar, bus);
  const refreshAgents = () => registerAgents(settings, { registry, incidents, desk });
  const broker = createBroker(settings, registry, closing);
  const mcpServers = new McpServers({ servers: workspace.mcpServers, registry, logger });
  closing.defer(() => mcpServers.close());
  const runner = new RouteRunner({ bus, routes: workspace.routes, logger });
  closing.defer(() => runner.close());
  const dispatcher = new Dispatcher({
    bus,
    registry,
    flows,
    cooldowns: new Cooldowns(env),
    timeoutMs: options.skillTimeoutMs,
    logger,
  });
  const routing = {
    registry,
    workspace,
    conversations: new Conversations(),
    defaultSkill: options.defaultSkill,
  };
  return {
    routing,
    flows,
    incidents,
    broker,
    desk,
    changes,
    registrar,
    mcpServers,
    async begin() {
      refreshAgents();
      workspace.onChange(() => {
        refreshAgents();
        broker?.refresh();
        void runner.refresh();
        void mcpServers.refresh();
      });
      broker?.start();
      await runner.refresh();
      void mcpServers.refresh();
      await dispatcher.start();
      await startCommands({ bus, registrar, logger });
      await startRouter(bus, routing);
    },
  };
}

function createBroker(
  { options, workspace, logger }: ExchangeSettings,
  registry: ExecutorRegistry,
  closing: AsyncDisposableStack,
): SkillBroker | undefined {
  if (options.disableSkillBroker) return undefined;
  const agents = workspace.externalAgents;
  const broker = new SkillBroker({ agents, registry, timeoutMs: options.skillTimeoutMs, logger });
  closing.defer(() => broker.close());
  return broker;
}

function openDesk({ home, bus }: ExchangeSettings, closing: AsyncDisposableStack): HumanDesk {
  const store = new QuestionStore(join(home, 'questions.db'));
  closing.defer(() => store.close());
  return new HumanDesk(store, bus);
}

function openFlows({ home }: ExchangeSettings, closing: AsyncDisposableStack): FlowStore {
  const flows = new FlowStore(join(home, 'flows.db'));
  flows.sweep();
  const timer = setInterval(() => flows.sweep(), sweepEveryMs).unref();
  closing.defer(() => {
    clearInterval(timer);
    flows.close();
  });
  return flows;
}

function registerAgents(
  { options, workspace, bus, gateway, logger }: ExchangeSettings,
  shared: { registry: ExecutorRegistry; incidents: IncidentBook; desk: HumanDesk },
): void {
  if (options.disableAgentRuntime) return;
  for (const { name, tools } of workspace.agents()) {
    const lacking = tools.filter((tool) => !availableTools.includes(tool));
    if (lacking.length > 0)
      logger.warn({ agent: name, lacking }, 'the agent lists tools that are not there; it runs without them');
  }
  const parts = { ...shared, bus, gateway, turnTimeoutMs: options.skillTimeoutMs };
  shared.registry.replace(
    'agents',
    workspace.agents().map((agent) => createAgentExecutor(agent, parts)),
  );
}
