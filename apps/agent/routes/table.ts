import { join } from 'node:path';
import type { App } from '@trunkline/http';
import { isDirectOperator, type Principal, readOrCreateSecret } from '@trunkline/identity';
import { estimateTokens } from '@trunkline/loop';
import { mountOpenAiApi } from '@trunkline/openai-api';
import { canAnswer, canJoin, canRead } from '../callers.ts';
import type { Agent } from '../components.ts';
import { agentModel } from '../openai/agent-model.ts';
import { OutsideAnswers } from '../openai/outside-answers.ts';
import manifest from '../package.json' with { type: 'json' };
import type { AgentConfig } from '../setup/config-schema.ts';
import { instanceOf } from '../setup/places.ts';
import {
  type GivenKey,
  isSetupComplete,
  type ModelSettings,
  modelSettings,
  writeConfig,
  writeSetup,
} from '../setup/setup.ts';
import { mountChatBranches } from './console/chat-branches.ts';
import { mountChatFiles } from './console/chat-files.ts';
import { mountChatModels } from './console/chat-models.ts';
import { mountChat, mountChats } from './console/chats.ts';
import { mountConfig, secretVariables } from './console/config.ts';
import { mountKnowledge } from './console/knowledge.ts';
import { mountDelegates, mountRuntime } from './console/runtime.ts';
import { mountAudit, mountScheduler, mountSkills, mountStores } from './console/stores.ts';
import { mountApprovals, mountTasks } from './console/tasks.ts';
import { mountEvents, mountLive } from './events.ts';
import { mountGuards } from './guards.ts';
import { mountInbox } from './inbox.ts';
import { mountMcp } from './mcp.ts';
import { mountMcpAuthorization } from './mcp-authorization.ts';
import { mountMcpConnections } from './mcp-connections.ts';
import { type McpAuthorizationRoutes, ProgramRegistrations } from './mcp-programs.ts';
import { mountMcpSignIn } from './mcp-sign-in.ts';

/** Every route group of the service, in the order in which a request meets them. */
const routeGroups: readonly ((app: App, deps: RouteDeps) => void)[] = [
  mountGuards,
  mountLive,
  mountEvents,
  mountChat,
  mountApprovals,
  mountChats,
  mountChatBranches,
  mountChatModels,
  mountChatFiles,
  mountInbox,
  (app, deps) =>
    mountOpenAiApi(app, {
      ...agentModel(deps),
      responses: { kept: deps.state.responses, engine: deps.a2a.engine, countTokens: estimateTokens },
    }),
  mountRuntime,
  mountStores,
  mountKnowledge,
  mountAudit,
  mountSkills,
  mountScheduler,
  mountTasks,
  mountDelegates,
  mountMcp,
  mountMcpAuthorization,
  mountMcpConnections,
  mountMcpSignIn,
  mountConfig,
  (app, { a2a }) => a2a.mount(app),
];

/** Mounts all routes; `facts` is what the console shows of the service. Returns what ends sessions of clients. */
export function mountRoutes(
  app: App,
  agent: Agent,
  facts: () => Record<string, unknown>,
  pages: Pick<McpAuthorizationRoutes, 'homePath' | 'provider'>,
): () => Promise<void> {
  const closing = new AsyncDisposableStack();
  const secret = readOrCreateSecret(agent.context.places.state, 'mcp-client-secret');
  const registrations = new ProgramRegistrations(secret);
  const outsideAnswers = new OutsideAnswers(join(agent.context.places.state, 'outside-answers.db'));
  closing.defer(() => outsideAnswers.close());
  const deps = { ...routeDeps(agent, facts), ...pages, registrations, outsideAnswers, closing };
  for (const mount of routeGroups) mount(app, deps);
  return () => closing.disposeAsync();
}

type RouteDeps = ReturnType<typeof routeDeps> &
  Pick<McpAuthorizationRoutes, 'homePath' | 'provider' | 'registrations'> & {
    outsideAnswers: OutsideAnswers;
    closing: AsyncDisposableStack;
  };

/** What route groups may use; each takes what its own interface names. */
function routeDeps(agent: Agent, facts: () => Record<string, unknown>) {
  const { context, a2a, state, stores, active, model, factory, toolset } = agent;
  const { options, live, directory, operator, owners, keys } = context;
  const { agentName } = options;
  const identity = { name: agentName, version: manifest.version, instance: instanceOf(options, live.config) };
  const settings = (config = live.config) => modelSettings(options, config, live.secrets);
  return {
    ...agent,
    ...state,
    ...stores,
    ...agent.contents,
    ...identity,
    agentName,
    keys,
    operator,
    accounts: context.accounts,
    publicUrl: options.publicUrl,
    isOpen: operator.isOpen,
    engine: a2a.engine,
    owners,
    mayJoin: canJoin(context, state),
    mayRead: canRead(context, state),
    mayAnswer: canAnswer(context, state),
    facts: () => ({ ...identity, ...facts() }),
    graph: () => active.current(),
    knowledge: () => (live.config.middleware.knowledge ? stores.knowledge : undefined),
    topK: () => live.config.knowledge.top_k,
    scheduler: () => (live.config.middleware.scheduler ? agent.scheduler : undefined),
    onSkillsChange: () => factory.rebuild(),
    deliveries: (id: string) => a2a.push?.deliveries(id) ?? [],
    delegates: () => toolset.delegates,
    plugins: () => toolset.pluginStates,
    tools: () => active.graph?.tools ?? [],
    policy: context.policy.for(options.agentName),
    toolTimeoutMs: () => live.config.budget.tool_timeout_s * 1000,
    isOperator: (principal: Principal) => operator.isOpen || isDirectOperator(principal),
    isServing: () => live.config.mcp.serve,
    mcp: toolset.mcp,
    mcpTasksFile: join(context.places.state, 'mcp-tasks.db'),
    tryServer: (server: AgentConfig['mcp']['servers'][number]) => toolset.tryMcp(server),
    settings,
    settingsInUse: () => model.settings,
    secretVariables: () => secretVariables(options, live.store, context.env),
    replace: (text: string, key: GivenKey | undefined) => writeConfig(live, text, key),
    gateway: () => model.gateway,
    models: model.models,
    choices: () => live.config.model.choices,
    setUp: (given: Partial<ModelSettings>) => writeSetup(live, directory, settings(), given),
    isSetUp: () => isSetupComplete(directory),
  };
}
