import { join } from 'node:path';
import { createA2aClient } from '@trunkline/a2a';
import type { Accounts } from '@trunkline/accounts';
import type { AuditLog } from '@trunkline/audit';
import { type Environment, type Logger, readEnvironment } from '@trunkline/config';
import { type App, createMetrics, type Metrics } from '@trunkline/http';
import { anonymous, type OperatorAccess, type Principal } from '@trunkline/identity';
import { createLiveGateway } from '@trunkline/llm';
import { Policy } from '@trunkline/policy';
import { openSandbox } from '@trunkline/sandbox';
import { type Clock, systemClock } from '@trunkline/schedule';
import {
  accountsOf,
  auditOf,
  type ComponentValues,
  component,
  operatorOf,
  ServiceAddress,
  type ServiceContext,
} from '@trunkline/service';
import { steadyClock } from './call/clock.ts';
import { createConversations } from './call/conversation.ts';
import { Memory } from './call/replying/history.ts';
import { OpenQuestions } from './delegates/a2a-delegate.ts';
import { DelegateRepository, peerDelegates } from './delegates/repository.ts';
import { CallbackTokens, createLateAnswers } from './delivery/callbacks.ts';
import { createReportSummarizer, DeliveryController, PendingStore } from './delivery/delivery-controller.ts';
import { Calls, type CallsOptions } from './media/calls.ts';
import { LineCapacity } from './media/line-capacity.ts';
import { portRangeOf } from './media/peer.ts';
import { loadProcessPeers } from './media/peer-process.ts';
import { Counters, createLatencyLog } from './metrics/metrics.ts';
import type { VoiceOptions } from './options.ts';
import { SessionRegistry } from './sessions/registry.ts';
import { SkillLibrary, seedConfig } from './skills/library.ts';
import { SkillSelection } from './skills/selection.ts';
import { VoiceCloner } from './speech/clone/cloner.ts';
import { startIdleMeasurement } from './speech/idle-measurement.ts';
import { createSidecarClient } from './speech/sidecar/client.ts';
import { createSpeechParts } from './speech/speech.ts';
import { findDirectories, openVoiceDatabase } from './store/database.ts';
import { openRecorder } from './timeline/recorder.ts';
import { createDeepResearch, ResearchJobs } from './tools/deep-research.ts';
import { McpServers } from './tools/mcp.ts';
import { createReminderTools, Reminders } from './tools/reminders.ts';
import { createToolbox, delegation, sharedTools, type ToolsFor } from './tools/toolbox.ts';
import { createModels, type PersonaRequest, snapshotPersona } from './turn/persona.ts';
import { createAgentServer } from './turn/text-turn.ts';
import { createAdmission } from './users/admission.ts';
import { UserDirectory } from './users/directory.ts';
import { configuredSecrets, createFileSource, createRosterMarker } from './users/roster-sources.ts';
import { listedUser, Preferences, type User } from './users/user.ts';

/** What tests put in the place of the real thing. */
export interface Substitutes {
  converse?: CallsOptions['converse'];
  loadPeers?: CallsOptions['loadPeers'];
  /** For time limits; packets and sound keep to the real clock. */
  clock?: Clock;
}

/** What is settled before any component starts. */
interface VoiceContext {
  options: VoiceOptions;
  service: ServiceContext;
  env: Environment;
  operator: OperatorAccess;
  accounts: Accounts;
  audit: AuditLog;
  policy: Policy;
}

/** The running components of the service, as its routes use them. */
export type VoiceComponents = ComponentValues<ReturnType<typeof voiceComponents>>;

/** What route groups may use; each takes what its own type names. */
export type RouteDeps = VoiceComponents & VoiceContext;

/** The app as its routes see it: `c.get('caller')` is the user. */
export type VoiceApp = App<User>;

/** The components of the service. Each names what it needs; the order of start and stop follows from that alone. */
export function voiceComponents(
  options: VoiceOptions,
  service: ServiceContext,
  substitutes: Substitutes = {},
) {
  const { logger } = service;
  const context = component('context', {}, (): VoiceContext => {
    const env = service.env ?? readEnvironment();
    const [operator, audit] = [operatorOf(options, service), auditOf(options, service)];
    const policy = new Policy({
      home: options.trunklineHome,
      logger,
      audit: { service: 'voice', log: audit },
    });
    const accounts = accountsOf(options, service);
    return { options, service, env, operator, accounts, audit, policy };
  });
  const address = component('address', {}, () => new ServiceAddress(options));
  const metrics = component('metrics', {}, () => createMetrics({ prefix: 'voice' }));
  const counters = component('counters', {}, () => new Counters());
  const latency = component('latency log', { metrics }, ({ metrics }) => createLatencyLog(metrics));
  const gateway = component('model', {}, () => createGateway(options, logger, service.env));

  const directories = component('directories', {}, async () => {
    const directories = await findDirectories(options, logger);
    await seedConfig(directories.config);
    return directories;
  });
  const database = component(
    'database',
    { directories },
    ({ directories }) => openVoiceDatabase(directories.store),
    (database) => database.close(),
  );

  const users = component(
    'users',
    { context, directories },
    async ({ context: { env, accounts }, directories }) => {
      const users = new UserDirectory({
        secrets: configuredSecrets(options, logger),
        file: createFileSource(directories.users, env),
        marker: createRosterMarker(directories.store),
        onLoaded: (users) => accounts.setListed('users.yaml', users.map(listedUser)),
        logger,
      });
      await users.start();
      return users;
    },
    (users) => users.stop(),
  );
  const admission = component(
    'admission',
    { context, users, directories },
    ({ context: { env, operator, accounts }, users, directories: { users: rosterFile } }) =>
      createAdmission({
        users,
        operator,
        accounts,
        host: options.host,
        rosterFile,
        peers: service.peers,
        env,
        home: options.trunklineHome,
      }),
  );
  const library = component('skills', { directories }, async ({ directories }) => {
    const library = new SkillLibrary(directories.config, logger);
    await library.start();
    return library;
  });
  const preferences = component('preferences', { database }, ({ database }) => new Preferences(database));
  const selection = component(
    'skill selection',
    { library, preferences },
    ({ library, preferences }) => new SkillSelection(library, preferences),
  );

  const sessions = component('sessions', { counters }, ({ counters }) => {
    const sessions = new SessionRegistry();
    sessions.onOpen(() => {
      counters.sessions += 1;
    });
    return sessions;
  });
  const delivery = component(
    'delivery',
    { sessions, database, gateway },
    ({ sessions, database, gateway }) => {
      const model = () => (gateway.describe().demo ? undefined : gateway.fastModel());
      const summarize = createReportSummarizer({ model, logger });
      return new DeliveryController({ sessions, pending: new PendingStore(database), summarize, logger });
    },
  );
  const tokens = component('callback tokens', { database, delivery }, ({ database, delivery }) => {
    const tokens = new CallbackTokens(database);
    tokens.recover(delivery);
    return tokens;
  });
  const questions = component('open questions', { database }, ({ database }) => new OpenQuestions(database));
  const delegates = component(
    'delegates',
    { context, directories, tokens, questions },
    async ({ context: { env }, directories, tokens, questions }) => {
      const delegates = new DelegateRepository({
        path: directories.delegates,
        env,
        late: createLateAnswers(() => callbackUrl(options, service), tokens),
        peers: () => peerDelegates(service.peers, options),
        questions,
        logger,
      });
      await delegates.start();
      return delegates;
    },
  );

  const research = component(
    'research jobs',
    { database, delegates, delivery },
    ({ database, delegates, delivery }) =>
      new ResearchJobs({
        database,
        client: createA2aClient(),
        service: () => delegates.agent('research'),
        delivery,
        logger,
      }),
    (research) => research.stop(),
  );
  const reminders = component(
    'reminders',
    { database, delivery },
    (deps) => new Reminders({ ...deps, logger }),
    (reminders) => reminders.stop(),
  );
  const sandbox = component('sandbox', { directories }, ({ directories }) =>
    openSandbox(options, { service: 'voice', hidden: Object.values(directories), logger }),
  );
  const mcp = component(
    'MCP servers',
    { context, directories, sandbox, gateway },
    ({ context: { env, policy }, directories, sandbox, gateway }) =>
      new McpServers({ path: directories.mcp, env, logger, sandbox, gateway, policy }),
    (mcp) => mcp.stop(),
  );
  const toolsFor = component(
    'tools',
    { context, counters, delegates, research, reminders, mcp },
    collectTools,
  );

  const sidecar = component('sidecar', {}, () =>
    createSidecarClient({ url: options.sidecarUrl, timeoutMs: options.sidecarTimeout * 1000 }),
  );
  const lines = component('lines', {}, () => {
    const { maxCalls, maxSpeechLoad } = options;
    return new LineCapacity({
      maxCalls,
      maxLoad: maxSpeechLoad / 100,
      onWait: (caller) => logger.info(caller, 'caller waits for a line'),
    });
  });
  const speech = component(
    'speech',
    { sidecar, directories, lines },
    ({ sidecar, directories, lines }) =>
      createSpeechParts(options, {
        sidecar,
        directory: join(directories.store, 'speech'),
        onWorked: (ms) => lines.worked(ms),
        logger,
      }),
    (speech) => speech.close(),
  );
  const measurement = component(
    'measurement of voices',
    { speech, sessions },
    (deps) => startIdleMeasurement({ ...deps, clock: systemClock, logger }),
    (measurement) => measurement.stop(),
  );
  const cloner = component(
    'voice cloner',
    { sidecar, speech, library, directories },
    ({ sidecar, speech: { transcriber }, library, directories: { config: configDirectory } }) =>
      new VoiceCloner({
        backend: options.ttsBackend,
        sidecar,
        transcriber,
        library,
        configDirectory,
        logger,
      }),
  );

  const modelFor = component('models of skills', { context, gateway }, ({ context: { env }, gateway }) => {
    const { llmModel: model, llmMaxTokens: maxTokens, llmTemperature: temperature } = options;
    return createModels({ gateway, model, maxTokens, temperature, env, logger });
  });
  const persona = component('personas', { context, selection, preferences, modelFor, toolsFor }, (deps) => {
    const { verbosity } = options;
    const policy = deps.context.policy.for('voice');
    return (user: User, principal: Principal = anonymous, request?: PersonaRequest) =>
      snapshotPersona(user, principal, { ...deps, verbosity, policy }, request);
  });
  const conversations = component(
    'conversations',
    { persona, sessions, delivery, speech, latency, database, gateway, directories },
    async ({ database, gateway, directories, ...deps }) =>
      createConversations({
        ...deps,
        memory: new Memory(database, options.quotaMb * 2 ** 20),
        summariser: () => gateway.fastModel(),
        settings: {
          halfDuplex: options.halfDuplex,
          language: options.inprocLang,
          echoGuardMs: options.echoGuardMs,
          speechTimeoutMs: options.sidecarTimeout * 1000,
        },
        clock: steadyClock,
        logger,
        recorder: await openRecorder({
          directory: join(directories.store, 'calls'),
          keep: options.callTimelines,
          logger,
        }),
      }),
    (conversations) => conversations.stop(),
  );
  const calls = component(
    'calls',
    { context, counters, metrics, lines, conversations },
    ({ conversations, ...deps }) => createCalls(deps, { converse: conversations.begin, ...substitutes }),
    (calls) => calls.stop(),
  );
  const a2a = component(
    'A2A server',
    { context, address, users, admission, counters, database, directories, persona },
    createAgentServer,
    (a2a) => a2a.stop(),
  );

  return {
    ...{ context, address, metrics, counters, latency, gateway, directories, database, users, admission },
    ...{ library, preferences, selection, sessions, delivery, tokens, questions, delegates },
    ...{ research, reminders, sandbox, mcp },
    ...{ toolsFor, sidecar, lines, speech, measurement, cloner, persona, conversations, calls, a2a },
  };
}

/** Where agents bring late answers: an address that they can reach, if there is one. */
function callbackUrl({ publicUrl }: VoiceOptions, { peers }: ServiceContext): string | undefined {
  const base = publicUrl ?? peers?.find('voice')?.url;
  return base && `${base.replace(/\/+$/, '')}/a2a/callback`;
}

function createGateway(options: VoiceOptions, logger: Logger, env: Environment | undefined) {
  const llmGatewayUrl = options.llmUrl ?? options.llmGatewayUrl;
  const llmHeaders = llmGatewayUrl === options.llmGatewayUrl ? options.llmHeaders : undefined;
  return createLiveGateway({ ...options, llmGatewayUrl, llmHeaders }, { env, logger });
}

interface ToolDeps {
  context: VoiceContext;
  counters: Counters;
  delegates: DelegateRepository;
  research: ResearchJobs;
  reminders: Reminders;
  mcp: McpServers;
}

function collectTools({ context, counters, delegates, research, reminders, mcp }: ToolDeps): ToolsFor {
  const shared = sharedTools(context.options);
  return createToolbox({
    sources: [
      () => shared,
      (skill, user) => delegation(delegates, user, skill.delegates),
      (_skill, user, sender) => [
        createDeepResearch(research, user.id),
        ...createReminderTools(reminders, user.id, sender),
      ],
      () => mcp.tools,
    ],
    onCall: (name) => counters.toolCalled(name),
    logger: context.service.logger,
  });
}

function createCalls(
  {
    context: { options, service },
    counters,
    metrics,
    lines,
  }: { context: VoiceContext; counters: Counters; metrics: Metrics; lines: LineCapacity },
  media: Substitutes & Pick<CallsOptions, 'converse'>,
): Calls {
  const active = metrics.gauge('sessions_active', 'Callers connected now.');
  const late = metrics.counter('audio_frames_late_total', 'Frames of speech that were sent too late.');
  return new Calls({
    loadPeers: () => loadProcessPeers(service.logger),
    clock: systemClock,
    ...media,
    mediaClock: systemClock,
    settings: { iceServers: options.iceServers, portRange: portRangeOf(options.icePortRange ?? '') },
    lines,
    observer: {
      connected: () => active.inc(),
      ended: () => active.dec(),
      framesLate: (frames) => {
        late.inc(frames);
        counters.framesLate += frames;
      },
    },
    logger: service.logger,
  });
}
