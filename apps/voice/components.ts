// With app.ts the only file that names concrete components.
import { join } from 'node:path';
import { type A2aServer, createA2aClient, createA2aServer } from '@trunkline/a2a';
import { type Environment, type Logger, readVariables } from '@trunkline/config';
import { type App, createMetrics, type Metrics } from '@trunkline/http';
import { anonymous, type Principal } from '@trunkline/identity';
import { createModelGateway, type Tool } from '@trunkline/llm';
import { type Clock, systemClock } from '@trunkline/schedule';
import { operatorOf, type ServiceContext } from '@trunkline/service';
import {
  createCalculator,
  createCurrentTime,
  createDelegateTo,
  createDuckDuckGo,
  createFetchUrl,
  createSearxng,
  createWebSearch,
} from '@trunkline/tools';
import { steadyClock } from './call/clock.ts';
import { type Conversations, createConversations } from './call/conversation.ts';
import { Memory } from './call/replying/history.ts';
import { OpenQuestions } from './delegates/a2a-delegate.ts';
import { DelegateRepository, peerDelegates } from './delegates/repository.ts';
import { CallbackTokens, createLateAnswers } from './delivery/callbacks.ts';
import { createReportSummarizer, DeliveryController, PendingStore } from './delivery/delivery-controller.ts';
import { PersonaUnavailableError } from './errors.ts';
import { Calls, type CallsOptions } from './media/calls.ts';
import { portRangeOf } from './media/peer.ts';
import { loadWrtcPeers } from './media/wrtc-peer.ts';
import { Counters, LatencyLog } from './metrics/metrics.ts';
import type { VoiceOptions } from './options.ts';
import { SessionRegistry } from './sessions/registry.ts';
import { SkillLibrary } from './skills/library.ts';
import { seedConfig } from './skills/seed.ts';
import { SkillSelection } from './skills/selection.ts';
import { VoiceCloner } from './speech/clone/cloner.ts';
import { createSidecarClient } from './speech/sidecar/client.ts';
import { createSpeechParts, type SpeechParts } from './speech/speech.ts';
import { type Directories, findDirectories, openVoiceDatabase } from './store/database.ts';
import { createDeepResearch, ResearchJobs } from './tools/deep-research.ts';
import { McpServers } from './tools/mcp.ts';
import { Toolbox } from './tools/toolbox.ts';
import { Models, type Persona, type PersonaDeps, snapshotPersona } from './turn/persona.ts';
import { ConversationHistories, createTextTurn, describeVoice } from './turn/text-turn.ts';
import { createAdmission } from './users/admission.ts';
import { UserDirectory } from './users/directory.ts';
import {
  createFileSource,
  createRosterMarker,
  createSecretsSource,
  type RosterSource,
} from './users/roster-sources.ts';
import { defaultUser, Preferences, type User } from './users/user.ts';

export interface Setup {
  options: VoiceOptions;
  context: ServiceContext;
  substitutes?: Substitutes;
}

/** What tests put in the place of the real thing. */
export interface Substitutes {
  converse?: CallsOptions['converse'];
  loadPeers?: CallsOptions['loadPeers'];
  /** Of time limits; packets and sound keep to the real one. */
  clock?: Clock;
}

export type VoiceComponents = Awaited<ReturnType<typeof createComponents>>;

/** Creates everything that routes and calls need. `closing` stops it in reverse order. */
export async function createComponents(setup: Setup, closing: AsyncDisposableStack) {
  const { options, substitutes = {} } = setup;
  const core = await createCore(setup, closing);
  const tools = createTools(core, closing);
  const speech = createSpeech(core, closing);
  const persona = createPersonas(core, tools.toolbox);
  const metrics = createMetrics({ prefix: 'voice' });
  const latency = createLatencyLog(metrics);
  const conversations = createCallConversations(core, { persona, speech: speech.speech, latency });
  closing.defer(() => conversations.stop());
  const calls = createCalls(core, metrics, { converse: conversations.begin, ...substitutes });
  closing.defer(() => calls.stop());
  /** Where others reach the service; the address that it listens on replaces the configured one. */
  const address = { url: options.publicUrl ?? `http://${options.host}:${options.port}` };
  const a2a = createAgentServer(core, persona, address);
  closing.defer(() => a2a.stop());
  return { ...core, ...tools, ...speech, persona, metrics, latency, conversations, calls, address, a2a };
}

/** Where agents bring late answers: an address that they can reach, if there is one. */
function callbackUrl({ publicUrl }: VoiceOptions, { peers }: ServiceContext): string | undefined {
  const base = publicUrl ?? peers?.find('voice')?.url;
  return base && `${base.replace(/\/+$/, '')}/a2a/callback`;
}

type Core = Awaited<ReturnType<typeof createCore>>;

/** What everything else uses: stores, users, skills, delegates, sessions, notifications. */
async function createCore({ options, context }: Setup, closing: AsyncDisposableStack) {
  const { logger, peers } = context;
  const directories = await findDirectories(options, logger);
  await seedConfig(directories.config);
  const database = openVoiceDatabase(directories.store);
  closing.defer(() => database.close());
  const env = context.env ?? Object.fromEntries(readVariables(/^(.+)$/));
  const users = createUsers(options, directories, logger, env);
  closing.defer(() => users.stop());
  const operator = operatorOf(options, context);
  const { host } = options;
  const admission = createAdmission({ users, operator, host, rosterFile: directories.users, peers, env });
  const library = new SkillLibrary(directories.config, logger);
  const preferences = new Preferences(database);
  const tokens = new CallbackTokens(database);
  const late = createLateAnswers(() => callbackUrl(options, context), tokens);
  const questions = new OpenQuestions(database);
  const delegates = new DelegateRepository({
    path: directories.delegates,
    env,
    late,
    peers: () => peerDelegates(context.peers, options),
    questions,
    logger,
  });
  await Promise.all([users.start(), library.start(), delegates.start()]);
  const counters = new Counters();
  const sessions = new SessionRegistry();
  sessions.onOpen(() => counters.sessionOpened());
  const gateway = createGateway(options, logger);
  const summing = () => (gateway.describe().demo ? undefined : gateway.fastModel());
  const summarize = createReportSummarizer({ model: summing, logger });
  const delivery = new DeliveryController({
    sessions,
    pending: new PendingStore(database),
    summarize,
    logger,
  });
  tokens.recover(delivery);
  return {
    options,
    context,
    directories,
    database,
    logger,
    env,
    users,
    operator,
    admission,
    library,
    preferences,
    tokens,
    questions,
    delegates,
    counters,
    sessions,
    selection: new SkillSelection(library, preferences),
    delivery,
    gateway,
  };
}

function createGateway(options: VoiceOptions, logger: Logger) {
  return createModelGateway({
    url: options.llmUrl ?? options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    logger,
  });
}

function createUsers(options: VoiceOptions, directories: Directories, logger: Logger, env: Environment) {
  const secrets = secretsSource(options, logger);
  const marker = createRosterMarker(directories.store);
  return new UserDirectory({ secrets, file: createFileSource(directories.users, env), marker, logger });
}

function secretsSource(options: VoiceOptions, logger: Logger): RosterSource | undefined {
  const {
    secretsClientId: clientId,
    secretsClientSecret: clientSecret,
    secretsProjectId: projectId,
  } = options;
  if (clientId !== undefined && clientSecret !== undefined && projectId !== undefined) {
    const { secretsApiUrl: apiUrl, secretsEnvironment: environment, secretsPath: secretPath } = options;
    return createSecretsSource({ apiUrl, clientId, clientSecret, projectId, environment, secretPath });
  }
  if (clientId !== undefined || clientSecret !== undefined || projectId !== undefined) {
    logger.warn(
      {},
      'secrets manager needs SECRETS_CLIENT_ID, SECRETS_CLIENT_SECRET and SECRETS_PROJECT_ID; using users.yaml',
    );
  }
  return undefined;
}

function createTools(core: Core, closing: AsyncDisposableStack) {
  const { options, logger, counters, delegates, database, delivery, directories, env } = core;
  const shared = sharedTools(options);
  const service = () => delegates.agent('research');
  const research = new ResearchJobs({ database, client: createA2aClient(), service, delivery, logger });
  closing.defer(() => research.stop());
  const mcp = new McpServers({ path: directories.mcp, env, logger });
  closing.defer(() => mcp.stop());
  const toolbox = new Toolbox({
    sources: [
      () => shared,
      (skill, user) => delegation(delegates, user, skill.delegates),
      (_skill, user) => [createDeepResearch(research, user.id)],
      () => mcp.tools,
    ],
    onCall: (name) => counters.toolCalled(name),
    logger,
  });
  return { toolbox, research, mcp };
}

function sharedTools({ searxngUrl, fetchAllowedHosts, fetchAllowedCidrs }: VoiceOptions): Tool[] {
  const engine = searxngUrl === undefined ? createDuckDuckGo() : createSearxng({ url: searxngUrl });
  return [
    createCurrentTime(),
    createCalculator(),
    createWebSearch(engine),
    createFetchUrl({ allowedHosts: fetchAllowedHosts, allowedCidrs: fetchAllowedCidrs }),
  ];
}

/** The tool is built for each session, so that it names the delegates of that moment. */
function delegation(
  repository: DelegateRepository,
  user: User,
  allowed: readonly string[] | undefined,
): Tool[] {
  const delegates = repository.delegatesFor(user.id, allowed);
  return delegates.length === 0 ? [] : [createDelegateTo({ delegates })];
}

function createSpeech({ options, library, directories, logger }: Core, closing: AsyncDisposableStack) {
  const { ttsBackend: backend, sidecarUrl: url, sidecarTimeout } = options;
  const sidecar = createSidecarClient({ url, timeoutMs: sidecarTimeout * 1000 });
  const speech = createSpeechParts(options, {
    sidecar,
    directory: join(directories.store, 'speech'),
    logger,
  });
  closing.defer(() => speech.close());
  const cloner = new VoiceCloner({
    backend,
    sidecar,
    transcriber: speech.transcriber,
    library,
    configDirectory: directories.config,
    logger,
  });
  return { sidecar, speech, cloner };
}

function createPersonas(core: Core, toolbox: Toolbox) {
  const { options, selection, preferences, gateway, env, logger } = core;
  const models = new Models({
    gateway,
    model: options.llmModel,
    maxTokens: options.llmMaxTokens,
    temperature: options.llmTemperature,
    env,
    logger,
  });
  const deps: PersonaDeps = { selection, preferences, models, toolbox, verbosity: options.verbosity };
  return (user: User, principal: Principal = anonymous): Persona => snapshotPersona(user, principal, deps);
}

interface ConversationDeps {
  persona: (user: User, principal?: Principal) => Persona;
  speech: SpeechParts;
  latency: LatencyLog;
}

function createCallConversations(core: Core, { persona, speech, latency }: ConversationDeps): Conversations {
  const { options, sessions, database, delivery, gateway, logger } = core;
  const { halfDuplex, echoGuardMs, sidecarTimeout } = options;
  return createConversations({
    persona,
    sessions,
    delivery,
    speech,
    latency,
    memory: new Memory(database),
    summariser: () => gateway.fastModel(),
    settings: { halfDuplex, echoGuardMs, speechTimeoutMs: sidecarTimeout * 1000 },
    clock: steadyClock,
    logger,
  });
}

/** Where the turns of calls are timed: for the service's own record and for Prometheus. */
function createLatencyLog(metrics: Metrics): LatencyLog {
  const buckets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 30];
  const help = 'Time from the end of speech to each step of the answer.';
  const seconds = metrics.histogram('turn_latency_seconds', help, ['step'], buckets);
  return new LatencyLog((turn) => {
    for (const [name, ms] of Object.entries(turn))
      if (ms !== null) seconds.observe({ step: name.replace(/_ms$/, '') }, ms / 1000);
  });
}

type CallDeps = Substitutes & { converse: CallsOptions['converse'] };

function createCalls({ options, counters, logger }: Core, metrics: Metrics, deps: CallDeps): Calls {
  const active = metrics.gauge('sessions_active', 'Callers connected now.');
  const late = metrics.counter('audio_frames_late_total', 'Frames of speech that were sent too late.');
  return new Calls({
    loadPeers: loadWrtcPeers,
    clock: systemClock,
    ...deps,
    mediaClock: systemClock,
    settings: { iceServers: options.iceServers, portRange: portRangeOf(options.icePortRange ?? '') },
    limit: options.maxCalls,
    observer: {
      connected: () => active.inc(),
      ended: () => active.dec(),
      framesLate: (frames) => {
        late.inc(frames);
        counters.framesLate(frames);
      },
    },
    logger,
  });
}

/** Answers other agents as the user of A2A_USER_ID. */
function createAgentServer(
  { options, users, admission, counters, database, directories, logger }: Core,
  persona: (user: User, principal: Principal) => Persona,
  address: { url: string },
): A2aServer {
  const { a2aAuthToken: token, a2aUserId: id } = options;
  const answering = (sender: Principal) => {
    // A roster that cannot be read may have limited this user.
    if (users.closedBecause !== undefined) throw new PersonaUnavailableError(users.closedBecause);
    return persona(users.find(id) ?? { ...defaultUser, id, displayName: id, role: 'user' }, sender);
  };
  return createA2aServer({
    directory: directories.store,
    executor: createTextTurn({ persona: answering, conversations: new ConversationHistories(database) }),
    card: () => describeVoice(options.agentName, address.url),
    cardForm: '0.3',
    guardCard: token !== undefined,
    credentials: token === undefined ? {} : { bearer: token, apiKey: token, require: 'any' },
    closedBecause: admission.operatorOnlyBecause,
    allowedOrigins: options.a2aAllowedOrigins,
    observer: { turnStarted: () => counters.inboundMessage() },
    logger,
  });
}

/** The app as its routes see it: `c.get('caller')` is the user. */
export type VoiceApp = App<User>;
