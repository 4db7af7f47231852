// With app.ts the only file that names concrete parts.
import { join } from 'node:path';
import { createA2aClient } from '@trunkline/a2a';
import { type Environment, type Logger, readVariables } from '@trunkline/config';
import type { Metrics } from '@trunkline/http';
import { anonymous, type Principal } from '@trunkline/identity';
import { createModelGateway, type Tool } from '@trunkline/llm';
import { type Clock, systemClock } from '@trunkline/schedule';
import { operatorOf, type ServiceContext } from '@trunkline/service';
import type { Database } from '@trunkline/storage';
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
import { DelegateBook } from './delegates/book.ts';
import { peerDelegates } from './delegates/peers.ts';
import { OpenQuestions } from './delegates/questions.ts';
import { CallbackTokens, createLateAnswers } from './delivery/callbacks.ts';
import { DeliveryController, PendingStore } from './delivery/delivery-controller.ts';
import { createReportSummarizer } from './delivery/report-summary.ts';
import { Calls, type CallsOptions } from './media/calls.ts';
import { portRangeOf } from './media/ice.ts';
import { loadWrtcPeers } from './media/wrtc-peer.ts';
import { LatencyLog } from './metrics/latency.ts';
import { Counters } from './metrics/record.ts';
import type { VoiceOptions } from './options.ts';
import { SessionRegistry } from './sessions/registry.ts';
import type { Places } from './setup.ts';
import { SkillLibrary } from './skills/library.ts';
import { SkillSelection } from './skills/selection.ts';
import { VoiceCloner } from './speech/clone/cloner.ts';
import { createSidecarClient } from './speech/sidecar/client.ts';
import { createSpeechParts } from './speech/speech.ts';
import { createDeepResearch, ResearchJobs } from './tools/deep-research.ts';
import { McpServers } from './tools/mcp.ts';
import { Toolbox } from './tools/toolbox.ts';
import { Models } from './turn/models.ts';
import { type Persona, type PersonaParts, snapshotPersona } from './turn/persona.ts';
import { createAdmission } from './users/admission.ts';
import { UserDirectory } from './users/directory.ts';
import { createFileSource } from './users/file-source.ts';
import { Preferences } from './users/preferences.ts';
import { createRosterMarker } from './users/roster-marker.ts';
import type { RosterSource } from './users/roster-source.ts';
import { createSecretsSource } from './users/secrets-source.ts';
import type { User } from './users/user.ts';

export interface Ground {
  options: VoiceOptions;
  context: ServiceContext;
  places: Places;
  database: Database;
}

/** Where agents bring late answers: an address that they can reach, if there is one. */
function callbackUrl({ publicUrl }: VoiceOptions, { peers }: ServiceContext): string | undefined {
  const base = publicUrl ?? peers?.find('voice')?.url;
  return base && `${base.replace(/\/+$/, '')}/a2a/callback`;
}

export type Core = Awaited<ReturnType<typeof createCore>>;

/** What everything else stands on: who calls, the skills, the sessions, the news. */
export async function createCore(ground: Ground, closing: AsyncDisposableStack) {
  const { options, context, places, database } = ground;
  const { logger, peers } = context;
  const env = context.env ?? Object.fromEntries(readVariables(/^(.+)$/));
  const users = createUsers(options, places, logger, env);
  closing.defer(() => users.stop());
  const operator = operatorOf(options, context);
  const { host } = options;
  const admission = createAdmission({ users, operator, host, rosterFile: places.users, peers, env });
  const library = new SkillLibrary(places.config, logger);
  const preferences = new Preferences(database);
  const tokens = new CallbackTokens(database);
  const late = createLateAnswers(() => callbackUrl(options, context), tokens);
  const questions = new OpenQuestions(database);
  const delegates = new DelegateBook({
    path: places.delegates,
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
    ...ground,
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

function createUsers(options: VoiceOptions, places: Places, logger: Logger, env: Environment) {
  const secrets = secretsSource(options, logger);
  const marker = createRosterMarker(places.store);
  return new UserDirectory({ secrets, file: createFileSource(places.users, env), marker, logger });
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
    const needed = 'SECRETS_CLIENT_ID, SECRETS_CLIENT_SECRET and SECRETS_PROJECT_ID';
    logger.warn({}, `users.yaml is used, because the secrets manager needs all of ${needed}`);
  }
  return undefined;
}

export function createTools(core: Core, closing: AsyncDisposableStack) {
  const { options, logger, counters, delegates, database, delivery, places, env } = core;
  const shared = sharedTools(options);
  const service = () => delegates.agent('research');
  const research = new ResearchJobs({ database, client: createA2aClient(), service, delivery, logger });
  closing.defer(() => research.stop());
  const mcp = new McpServers({ path: places.mcp, env, logger });
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
function delegation(book: DelegateBook, user: User, allowed: readonly string[] | undefined): Tool[] {
  const delegates = book.delegatesFor(user.id, allowed);
  return delegates.length === 0 ? [] : [createDelegateTo({ delegates })];
}

export type Speech = ReturnType<typeof createSpeech>;

export function createSpeech({ options, library, places, logger }: Core, closing: AsyncDisposableStack) {
  const { ttsBackend: backend, sidecarUrl: url, sidecarTimeout } = options;
  const sidecar = createSidecarClient({ url, timeoutMs: sidecarTimeout * 1000 });
  const parts = createSpeechParts(options, { sidecar, directory: join(places.store, 'speech'), logger });
  closing.defer(() => parts.close());
  const cloner = new VoiceCloner({
    backend,
    sidecar,
    transcriber: parts.transcriber,
    library,
    configDirectory: places.config,
    logger,
  });
  return { sidecar, speech: parts, cloner };
}

export function createPersonas(core: Core, toolbox: Toolbox) {
  const { options, selection, preferences, gateway, env, logger } = core;
  const models = new Models({
    gateway,
    model: options.llmModel,
    maxTokens: options.llmMaxTokens,
    temperature: options.llmTemperature,
    env,
    logger,
  });
  const parts: PersonaParts = { selection, preferences, models, toolbox, verbosity: options.verbosity };
  return (user: User, principal: Principal = anonymous): Persona => snapshotPersona(user, principal, parts);
}

/** What is said in calls, and by whom. */
export interface Talk {
  persona: (user: User, principal?: Principal) => Persona;
  speech: Speech['speech'];
  latency: LatencyLog;
}

export function createTalks(core: Core, { persona, speech, latency }: Talk): Conversations {
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
export function createLatencyLog(metrics: Metrics): LatencyLog {
  const buckets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 30];
  const words = 'Time from the end of speech to each step of the answer.';
  const seconds = metrics.histogram('turn_latency_seconds', words, ['step'], buckets);
  return new LatencyLog((turn) => {
    for (const [name, ms] of Object.entries(turn))
      if (ms !== null) seconds.observe({ step: name.replace(/_ms$/, '') }, ms / 1000);
  });
}

/** What tests put in the place of the real thing. */
export interface Substitutes {
  converse?: CallsOptions['converse'];
  loadPeers?: CallsOptions['loadPeers'];
  /** Of time limits; packets and sound keep to the real one. */
  clock?: Clock;
}

type CallComponents = Substitutes & { converse: CallsOptions['converse'] };

export function createCalls(
  { options, counters, logger }: Core,
  metrics: Metrics,
  parts: CallComponents,
): Calls {
  const active = metrics.gauge('sessions_active', 'Callers connected now.');
  const late = metrics.counter('audio_frames_late_total', 'Frames of speech that were sent too late.');
  return new Calls({
    loadPeers: loadWrtcPeers,
    clock: systemClock,
    ...parts,
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
