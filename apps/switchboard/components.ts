import { join } from 'node:path';
import { readEnvironment } from '@trunkline/config';
import { createLiveGateway, ModelsFile } from '@trunkline/llm';
import { Policy } from '@trunkline/policy';
import { openSandbox } from '@trunkline/sandbox';
import {
  accountsOf,
  auditOf,
  type ComponentValues,
  component,
  operatorOf,
  ServiceAddress,
  type ServiceContext,
} from '@trunkline/service';
import { dailyQuota, serviceHome } from '@trunkline/storage';
import { listedCaller } from './access/caller.ts';
import { openKeys } from './access/keys.ts';
import { createBusMonitor } from './cluster/bus-monitor.ts';
import { createPeers } from './cluster/peers.ts';
import { createSealExchange } from './cluster/seal-exchange.ts';
import { createTaskReplica } from './cluster/task-replica.ts';
import { MessageFiles } from './content/message-files.ts';
import { createJournalDraft } from './control/commands.ts';
import { Seal } from './control/seal.ts';
import { openBus } from './core/open-bus.ts';
import { PluginHost } from './core/plugins.ts';
import { agentFiles, createExchange } from './exchange.ts';
import { sharedFlows } from './flows/flow-replica.ts';
import { openA2aServer } from './gateway/a2a-gateway.ts';
import { createApprovalRules } from './human/approval-rules.ts';
import { sharedQuestions } from './human/shared-questions.ts';
import type { SwitchboardOptions } from './options.ts';
import { createPlugins } from './plugins.ts';
import { createCommandBus } from './routes/control.ts';
import { openStores } from './stores.ts';
import { surfaces } from './surfaces/list.ts';
import { createSurfaceSenders, namesOnSurfaces, pairingRequest } from './surfaces/senders.ts';
import type { Surface } from './surfaces/surface.ts';
import { VectorPlugin } from './vectors/plugin.ts';
import { announce, Problems, reportProblem } from './workspace/problems.ts';
import { checkApart, hideSecrets, openWorkspace, seedWorkspace, withPeers } from './workspace/workspace.ts';

export type Switchboard = ComponentValues<ReturnType<typeof switchboardComponents>>;

/** What a component needs decides when it starts and stops, not its line here. */
export function switchboardComponents(
  options: SwitchboardOptions,
  service: ServiceContext,
  started: Promise<void>,
) {
  const { logger, peers, hide } = service;
  const home = serviceHome(options.trunklineHome, 'switchboard');
  const env = service.env ?? readEnvironment();

  const audit = auditOf(options, service);
  const context = component('context', {}, () => ({
    options,
    env,
    home,
    logger,
    operator: operatorOf(options, service),
    accounts: accountsOf(options, service),
    audit,
    policy: new Policy({
      home: options.trunklineHome,
      logger,
      audit: { service: 'switchboard', log: audit },
    }),
    sandbox: openSandbox(options, {
      service: 'switchboard',
      hidden: [
        options.workspaceDirectory ?? home,
        ...(options.agentsFile === undefined ? [] : [options.agentsFile]),
      ],
      logger,
    }),
    peers,
    address: new ServiceAddress(options),
  }));
  const models = component('models', {}, () => {
    const file = new ModelsFile({ home: options.trunklineHome, env, logger });
    const embeddings = {
      // Read anew at each use.
      get embeddingModel() {
        return options.embedModel ?? file.role('embeddings')?.model ?? 'nomic-embed-text';
      },
    };
    const more = options.vectorUrl === undefined ? {} : embeddings;
    return createLiveGateway(options, { env, logger, file }, more);
  });
  const bus = component(
    'bus',
    {},
    () => {
      const streamsFile = join(home, 'nats-streams.json');
      return openBus(options, { logger, waitForServers: true, started, streamsFile });
    },
    (running) => running.stop(),
  );
  const monitor = component('bus monitor', { bus }, ({ bus }) => createBusMonitor(bus, logger));
  const problems = component(
    'problems',
    { bus },
    ({ bus }) => new Problems((problem) => void reportProblem(bus, logger, problem)),
  );
  const directory = component('workspace directory', {}, async () => {
    const path = options.workspaceDirectory ?? join(home, 'workspace');
    checkApart(agentFiles(home), { WORKSPACE_DIR: path, AGENTS_YAML: options.agentsFile });
    if (await seedWorkspace(path)) logger.debug({ directory: path }, 'wrote an example workspace');
    return path;
  });
  const keys = component(
    'keys',
    { context, problems, directory },
    ({ context: { operator, accounts }, problems, directory }) =>
      openKeys({
        file: join(directory, 'keys.yaml'),
        adminKey: options.apiKey,
        host: options.host,
        isOpen: operator.isOpen,
        env,
        hide,
        logger,
        onProblem: (file, error) => problems.note(file, error),
        onListed: (callers) => accounts.setListed('keys.yaml', callers.map(listedCaller)),
      }),
    (opened) => opened.close(),
  );
  const workspace = component(
    'workspace',
    { bus, problems, directory },
    async ({ bus, problems, directory }) => {
      const { agentsFile } = options;
      const names = { withChannels: named('hasChannels'), provingSender: named('provesSender') };
      const files = await openWorkspace({ directory, agentsFile, surfaces: names, env, problems, logger });
      const workspace = withPeers(files, peers);
      hideSecrets(workspace, hide);
      workspace.onChange(() => hideSecrets(workspace, hide));
      workspace.onChange(
        (file) => void announce(bus, logger, { topic: 'config.updated', payload: { file } }),
      );
      return workspace;
    },
    (opened) => opened.close(),
  );
  const stores = component(
    'stores',
    {},
    () => openStores(home, logger, (options.natsUrl ?? []).length > 0),
    (opened) => opened.close(),
  );
  const sent = component('sent bytes', { stores }, ({ stores }) =>
    dailyQuota(
      {
        quotaMb: options.quotaMb,
        atMost: { megabytes: options.dailyMb, variable: 'SWITCHBOARD_DAILY_MB' },
      },
      stores.usage.sent,
    ),
  );
  const senders = component(
    'senders',
    { context, bus, workspace, sent },
    ({ context: { accounts, address }, bus, workspace, sent }) =>
      createSurfaceSenders({
        accounts,
        sent,
        logger,
        pairing: options.pairing,
        workspace,
        url: () => address.publicUrl,
        onRequest: (identity, display) => void announce(bus, logger, pairingRequest(identity, display)),
      }),
  );
  const seal = component('seal', {}, () => Seal.open(home));
  const sealExchange = component('seal exchange', { bus, seal }, ({ bus, seal }) =>
    createSealExchange({ bus, seal, logger }),
  );
  const vectors = component('vectors', { models }, ({ models }) => new VectorPlugin(options, models.embed));
  const parts = component(
    'plugin list',
    { bus, stores, seal, sealExchange },
    ({ bus, stores, seal, sealExchange }) =>
      createPlugins(options, {
        sealing: { seal, exchange: sealExchange },
        conversations: stores.conversations,
        responses: stores.responses,
        flowRows:
          stores.flowsElsewhere &&
          sharedFlows(stores.flows, stores.flowsElsewhere, {
            own: stores.questions,
            elsewhere: stores.questionsElsewhere,
          }),
        questionRows:
          stores.questionsElsewhere && sharedQuestions(stores.questions, stores.questionsElsewhere),
        sharedHome: stores.sharedFiles && { files: stores.sharedFiles, changes: stores.changes },
        createPeers: (isLeader) => createPeers({ bus, logger, isLeader }),
      }),
  );
  const files = component(
    'files',
    { parts, senders },
    ({ parts: { peers }, senders: { takesFiles } }) =>
      new MessageFiles({
        directory: join(home, 'content'),
        maxFileBytes: options.maxFileMb * 2 ** 20,
        maxTotalBytes: options.filesMb * 2 ** 20,
        peers,
        takesFiles,
        logger,
      }),
    (opened) => opened.close(),
  );
  const exchange = component(
    'exchange',
    { context, bus, workspace, senders, stores, models, seal, sealExchange, vectors, parts, files },
    ({
      context: { operator, accounts, address, policy, sandbox },
      parts,
      models,
      vectors,
      workspace,
      ...running
    }) =>
      createExchange({
        ...running,
        options,
        home,
        env,
        workspace,
        projects: parts.projects,
        peers: parts.peers,
        catchUp: parts.catchUp,
        agentTools: () => vectors.tools(),
        gateway: models,
        policy,
        approvals: createApprovalRules({
          access: operator,
          approvers: workspace.approvers,
          namesOf: (principal) => namesOnSurfaces(principal, accounts),
          url: () => address.publicUrl,
        }),
        sandbox,
        logger,
      }),
    (running) => running.close(),
  );
  const commands = component('commands', { bus, exchange, seal, parts }, ({ bus, exchange, seal, parts }) => {
    const journalDraft = createJournalDraft(exchange.controlPlane, seal);
    return { journalDraft, bus: createCommandBus(bus, journalDraft, () => parts.catchUp()) };
  });
  const replica = component('task replica', { seal, sealExchange }, ({ seal, sealExchange }) =>
    createTaskReplica({ seal, exchange: sealExchange }),
  );
  const plugins = component(
    'plugins',
    { context, bus, monitor, workspace, exchange, parts, vectors, senders, files, replica },
    ({ context: { accounts }, parts, vectors, replica, exchange: { controlPlane }, ...running }) =>
      new PluginHost([...parts.list, replica.plugin, vectors], {
        ...running,
        peers: parts.peers,
        accounts,
        controlPlane,
        logger,
        options,
        env,
        home,
      }),
  );
  const a2a = component(
    'a2a',
    { context, bus, exchange, stores, files, parts, replica, sent },
    ({ context: { address, accounts }, stores: { responses, flows }, parts: { peers }, ...running }) =>
      openA2aServer({
        ...{ ...running, options, home, responses, flows, peers, logger },
        address,
        current: (principal) => accounts.current(principal),
      }),
    (server) => server.stop(),
  );
  return {
    ...{ context, models, bus, monitor, keys, workspace, stores, sent },
    ...{ senders, parts, files, exchange, commands, plugins, a2a },
  };
}

function named(ability: 'hasChannels' | 'provesSender'): string[] {
  return surfaces.filter((surface: Surface) => surface[ability]).map(({ name }) => name);
}
