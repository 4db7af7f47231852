import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
import type { Bus } from '@trunkline/bus';
import { type Logger, readVariables } from '@trunkline/config';
import { createApp, createMetrics, listRoutes, type RenderError, serve, servePages } from '@trunkline/http';
import { createModelGateway } from '@trunkline/llm';
import { mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import { missingModel, operatorOf, type Service, type ServiceContext } from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import type { Caller } from './access/caller.ts';
import { openKeys } from './access/keys.ts';
import { SealExchange } from './cluster/seal-exchange.ts';
import { createJournalDraft } from './control/command-draft.ts';
import { Seal } from './control/seal.ts';
import { openBus } from './core/open-bus.ts';
import { PluginHost } from './core/plugin-host.ts';
import { agentFiles, createExchange, type Exchange } from './exchange.ts';
import { admitTask, createGatewayExecutor, listenAgain } from './gateway/a2a-gateway.ts';
import { agentsAsModels } from './gateway/openai-models.ts';
import { ParkedAnswers } from './gateway/parked-answers.ts';
import { createApprovalRules } from './human/approval-rules.ts';
import type { SwitchboardOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { createPlugins } from './plugins.ts';
import { mountBus } from './routes/bus.ts';
import { mountCallback } from './routes/callback.ts';
import { mountChanges } from './routes/changes.ts';
import { createCommandBus } from './routes/command.ts';
import { mountControl } from './routes/control.ts';
import { mountExperiments } from './routes/experiments.ts';
import { mountFiles } from './routes/files.ts';
import { mountFlows } from './routes/flows.ts';
import { mountGuards } from './routes/guards.ts';
import { mountHuman } from './routes/human.ts';
import { mountIncidents } from './routes/incidents.ts';
import { mountMcpServers } from './routes/mcp-servers.ts';
import { mountPlugins } from './routes/plugins.ts';
import { mountPublish } from './routes/publish.ts';
import { mountReady } from './routes/ready.ts';
import { mountRouting } from './routes/routing.ts';
import { mountWorkspace } from './routes/workspace.ts';
import { surfaces } from './surfaces/list.ts';
import type { Surface } from './surfaces/surface.ts';
import { VectorPlugin } from './vectors/plugin.ts';
import { checkApart } from './workspace/apart.ts';
import { hideSecrets } from './workspace/hide-secrets.ts';
import { withPeers } from './workspace/peers.ts';
import { Problems } from './workspace/problems.ts';
import { announce, reportProblem } from './workspace/report.ts';
import { seedWorkspace } from './workspace/seed.ts';
import { openWorkspace } from './workspace/workspace.ts';

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: SwitchboardOptions, context: ServiceContext): Promise<Service> {
  await using closing = new AsyncDisposableStack();
  const { logger, services = () => [], portVariable = 'SWITCHBOARD_PORT' } = context;
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    ...(options.vectorUrl !== undefined && { embeddingModel: options.embedModel }),
    logger,
  });
  const bus = await openBus(options, { logger });
  closing.defer(() => bus.stop());
  const problems = new Problems((problem) => void reportProblem(bus, logger, problem));
  const home = serviceHome(options.trunklineHome, 'switchboard');
  const directory = options.workspaceDirectory ?? join(home, 'workspace');
  checkApart(agentFiles(home), { WORKSPACE_DIR: directory, AGENTS_YAML: options.agentsFile });
  if (await seedWorkspace(directory)) logger.info({ directory }, 'wrote an example workspace');
  const env = context.env ?? Object.fromEntries(readVariables(/^(.+)$/));
  const operator = operatorOf(options, context);
  const keys = await openKeys({
    file: join(directory, 'keys.yaml'),
    adminKey: options.apiKey,
    host: options.host,
    isOpen: operator.isOpen,
    env,
    hide: context.hide,
    logger,
    onProblem: (file, error) => problems.note(file, error),
  });
  closing.defer(() => keys.close());
  const files = await openWorkspace({ directory, agentsFile: options.agentsFile, env, problems, logger });
  closing.defer(() => files.close());
  const workspace = withPeers(files, context.peers);
  hideSecrets(workspace, context.hide);
  workspace.onChange(() => hideSecrets(workspace, context.hide));
  workspace.onChange((file) => void announce(bus, logger, { topic: 'config.updated', payload: { file } }));
  const seal = await Seal.open(home);
  const sealExchange = new SealExchange({ bus, seal, logger });
  const parts = createPlugins(options, { seal, exchange: sealExchange });
  const { projects } = parts;
  const vectors = new VectorPlugin(options, gateway.embed);
  const agentTools = () => vectors.tools();
  // Known only when the server listens.
  let address = '';
  const approvals = createApprovalRules({
    access: operator,
    approvers: workspace.approvers,
    url: () => options.publicUrl ?? address,
  });
  const exchange = createExchange(
    { options, home, env, bus, workspace, projects, agentTools, gateway, approvals, sealExchange, logger },
    closing,
  );
  const missing = () => missingModel(gateway.describe());
  const app = createApp<Caller>({
    service: 'switchboard',
    access: { operator, serviceToken: context.peers?.serviceToken },
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'switchboard' }),
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    anyBodyType: surfaces.flatMap(({ anyBodyPaths = [] }: Surface) => anyBodyPaths),
    health: () => ({
      status: bus.status().connected ? 200 : 503,
      body: {
        ok: bus.status().connected,
        bus: bus.status(),
        model: gateway.describe(),
        missing: missing(),
        services: services(),
      },
    }),
  });
  mountCallback(app, exchange.longTasks);
  mountGuards(app, { keys, access: operator, agentName: context.peers?.agentName });
  mountReady(app, () => bus.status().connected);
  const journalDraft = createJournalDraft(exchange.controlPlane, seal);
  const commandBus = createCommandBus(bus, journalDraft);
  mountPublish(app, bus, { owners: parts.schedules, journalDraft });
  mountBus(app, bus);
  mountWorkspace(app, workspace);
  mountRouting(app, exchange.routing, {
    sighting: (agent) => exchange.broker?.sighting(agent),
    load: (agent) => exchange.limiter.load(agent),
  });
  mountExperiments(app, exchange.abTests);
  mountFlows(app, exchange.stores.flows, bus);
  mountFiles(app, commandBus, exchange.controlPlane);
  mountHuman(app, exchange.humanInput);
  mountIncidents(app, exchange.incidents);
  mountMcpServers(app, {
    list: workspace.mcpServers,
    servers: exchange.mcpServers,
    bus: commandBus,
    controlPlane: exchange.controlPlane,
  });
  mountControl(app, {
    bus: commandBus,
    controlPlane: exchange.controlPlane,
    listedElsewhere: () => workspace.listedElsewhere(),
  });
  mountChanges(app, commandBus, exchange.stores.changes);
  mountOpenAiApi(app, agentsAsModels({ bus, routing: exchange.routing, limiter: exchange.limiter }));
  const { controlPlane } = exchange;
  const pluginContext = {
    bus,
    workspace,
    controlPlane,
    logger,
    options,
    env,
    home,
    url: () => options.publicUrl ?? address,
  };
  const plugins = new PluginHost([...parts.list, vectors], pluginContext);
  mountPlugins(app, plugins);
  plugins.mount(app);
  const a2a = openGateway({
    options,
    home,
    bus,
    exchange,
    logger,
    url: () => address,
  });
  closing.defer(() => a2a.stop());
  a2a.mount(app);
  const pages = join(import.meta.dirname, 'dist');
  servePages(app, { directory: pages, base: '/app', index: 'app.html' });
  servePages(app, { directory: pages });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  // First no more requests, then no more messages, and only then what handlers use.
  closing.defer(() => bus.stop());
  closing.defer(() => plugins.stop());
  closing.defer(() => server.stop());
  address = server.url;
  await exchange.begin();
  context.peers?.onChange(() => exchange.broker?.refresh());
  await plugins.start();
  const opened = closing.move();
  return {
    url: server.url,
    missing,
    routes: () => listRoutes(app),
    stop: () => opened.disposeAsync(),
    requiresKey: () => keys.keyring().size > 0,
  };
}

/** A message that is too large is a bad request like any other bad message. */
const renderError: RenderError = (error, { path }) => ({
  body: path.startsWith('/v1/')
    ? { success: false, ...openAiErrorBody(error) }
    : { success: false, error: error.message },
  ...(path === '/publish' && error.code === 'body_too_large' && { status: 400 }),
});

interface GatewaySettings {
  options: SwitchboardOptions;
  home: string;
  bus: Bus;
  exchange: Exchange;
  logger: Logger;
  url: () => string;
}

/** The switchboard as an A2A agent; its skills are those of the agent at the helm. */
function openGateway({ options, home, bus, exchange, logger, url }: GatewaySettings) {
  const { routing, humanInput, limiter } = exchange;
  const { apiKey } = options;
  const parts = { bus, humanInput, routing, limiter };
  const parked = new ParkedAnswers(logger);
  const server = createA2aServer({
    directory: join(home, 'a2a'),
    executor: createGatewayExecutor(parts, parked),
    admit: (request) => admitTask(request, parts, parked),
    card: () => ({
      name: 'switchboard',
      description: manifest.description,
      version: manifest.version,
      publicUrl: options.publicUrl ?? url(),
      skills: helmSkills(routing),
    }),
    ...(apiKey !== undefined && { credentials: { bearer: apiKey, apiKey, require: 'any' } }),
    // The keys of the switchboard are warned about once, with the name of its own variable.
    warnWhenOpen: false,
    logger,
  });
  parked.attach(server.engine, listenAgain(bus));
  return server;
}

function helmSkills({ registry, workspace }: Exchange['routing']) {
  const skills = registry.agent(workspace.fleet().roles.helm)?.skills ?? [];
  return skills.map(({ name, description }) => ({
    id: name,
    name,
    description: description || name,
    tags: ['skill'],
  }));
}
