import { secretStoreOf } from '@trunkline/config';
import { type App, mountFileLinks } from '@trunkline/http';
import { isDirectOperator } from '@trunkline/identity';
import { estimateTokens } from '@trunkline/loop';
import { mountOpenAiApi } from '@trunkline/openai-api';
import type { Caller } from '../access/caller.ts';
import type { Switchboard } from '../components.ts';
import { mountCallback } from '../dispatch/long-tasks.ts';
import { mountExperiments } from '../experiments/ab-tests.ts';
import { agentsAsModels } from '../gateway/openai-models.ts';
import { mountHuman } from '../human/routes.ts';
import { mountIncidents } from '../incidents/incident-repository.ts';
import { mountBus, mountPublish } from './bus.ts';
import { mountChanges } from './changes.ts';
import { mountControl, mountFiles } from './control.ts';
import { mountFlows } from './flows.ts';
import { mountGuards, mountStarting } from './guards.ts';
import { mountMcpServers } from './mcp-servers.ts';
import { mountRouting } from './routing.ts';
import { mountSetup } from './setup.ts';
import { mountPlugins, mountReady, mountWorkspace } from './workspace.ts';

/** Every route group, in the order in which a request meets them; `routeAccess` in guards.ts says who may use which route. */
const routeGroups: readonly ((app: App<Caller>, switchboard: Switchboard) => void)[] = [
  // Before the guards: callbacks present a token of their task instead of a key.
  (app, { exchange }) => mountCallback(app, exchange.longTasks),
  (app, { keys, sent, context: { operator, peers } }) =>
    mountGuards(app, {
      keys,
      access: operator,
      agentName: () => peers?.agentName,
      quota: sent,
    }),
  (app, { monitor, plugins }) =>
    mountReady(app, async () => !plugins.isStarting && (await monitor.problem()) === undefined),
  (app, { plugins }) => mountStarting(app, () => plugins.isStarting),
  (app, { bus, parts, commands: { journalDraft } }) =>
    mountPublish(app, bus, { owners: parts.schedules, journalDraft }),
  (app, { bus }) => mountBus(app, bus),
  (app, { workspace }) => mountWorkspace(app, workspace),
  (app, { exchange: { routing, broker, limiter } }) =>
    mountRouting(app, routing, {
      sighting: (agent) => broker?.sighting(agent),
      look: async () => broker?.look(),
      load: (agent) => limiter.load(agent),
    }),
  (app, { exchange }) => mountExperiments(app, exchange.abTests),
  (app, { bus, stores, senders, exchange: { steps }, parts: { peers } }) =>
    mountFlows(app, { store: stores.flows, elsewhere: stores.flowsElsewhere, peers, bus, senders, steps }),
  (app, { commands, exchange }) => mountFiles(app, commands.bus, exchange.controlPlane),
  (app, { exchange, stores: { flows }, parts: { peers } }) =>
    mountHuman(app, exchange.humanInput, peers, (correlationId) => flows.ownerOfRequest(correlationId)),
  (app, { exchange }) => mountIncidents(app, exchange.incidents),
  (app, { commands, workspace, context: { operator }, exchange: { mcpServers, controlPlane } }) =>
    mountMcpServers(app, {
      list: workspace.mcpServers,
      servers: mcpServers,
      isOperator: (principal) => operator.isOpen || isDirectOperator(principal),
      bus: commands.bus,
      controlPlane,
    }),
  (app, { commands, workspace, exchange: { controlPlane }, context: { options, env } }) =>
    mountControl(app, {
      bus: commands.bus,
      controlPlane,
      listedElsewhere: () => workspace.listedElsewhere(),
      secrets: options.natsUrl === undefined ? secretStoreOf(env) : undefined,
    }),
  (app, { commands, stores, parts: { catchUp } }) =>
    mountChanges(app, { bus: commands.bus, changes: stores.changes, catchUp }),
  (app, { files }) => mountFileLinks(app, files.openLink),
  (app, { bus, exchange: { routing, limiter }, stores, a2a, files, context: { address, logger } }) =>
    mountOpenAiApi(app, {
      ...agentsAsModels({ bus, routing, limiter, files, logger, publicUrl: () => address.publicUrl }),
      responses: { kept: stores.responses, engine: a2a.engine, countTokens: estimateTokens },
    }),
  (app, { plugins }) => mountPlugins(app, plugins),
  (app, { plugins, context: { operator, options } }) => mountSetup(app, { operator, options, plugins }),
  (app, { plugins }) => plugins.mount(app),
  (app, { a2a }) => a2a.mount(app),
];

export function mountRoutes(app: App<Caller>, switchboard: Switchboard): void {
  for (const mount of routeGroups) mount(app, switchboard);
}
