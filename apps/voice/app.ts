import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
import {
  callerGuard,
  createApp,
  createMetrics,
  listRoutes,
  type Metrics,
  type RunningServer,
  requireOperator,
  serve,
  servePages,
} from '@trunkline/http';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import type { Service, ServiceContext } from '@trunkline/service';
import { PersonaUnavailableError, renderVoiceError } from './errors.ts';
import { healthBody, missingParts } from './health.ts';
import type { LatencyLog } from './metrics/latency.ts';
import type { VoiceOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import {
  type Core,
  createCalls,
  createCore,
  createLatencyLog,
  createPersonas,
  createSpeech,
  createTalks,
  createTools,
  type Speech,
  type Substitutes,
} from './parts.ts';
import { mountCallback } from './routes/callback.ts';
import { mountDelegates } from './routes/delegates.ts';
import { mountIce } from './routes/ice.ts';
import { mountMetrics } from './routes/metrics.ts';
import { mountOffer } from './routes/offer.ts';
import { mountSkills } from './routes/skills.ts';
import { mountUsers } from './routes/users.ts';
import { mountVerbosity } from './routes/verbosity.ts';
import { mountVoice } from './routes/voice.ts';
import type { VoiceApp } from './routes/voice-app.ts';
import { findPlaces } from './setup.ts';
import { seedConfig } from './skills/seed.ts';
import { createTranslator } from './speech/translator/app.ts';
import { openVoiceDatabase } from './store/database.ts';
import { describeVoice } from './turn/agent-card.ts';
import { advertiseApiKey } from './turn/card-scheme.ts';
import { Conversations } from './turn/conversations.ts';
import type { Persona } from './turn/persona.ts';
import { createTextTurn } from './turn/text-turn.ts';
import { defaultUser, type User } from './users/user.ts';

const megabyte = 1024 * 1024;

/** Starts the service. */
export async function start(options: VoiceOptions, context: ServiceContext): Promise<Service> {
  return (await launch(options, context)).service;
}

/** Starts the service and gives its parts too, for the tests, which may put others in their place. */
export async function launch(options: VoiceOptions, context: ServiceContext, substitutes: Substitutes = {}) {
  await using closing = new AsyncDisposableStack();
  const { logger, portVariable = 'PORT' } = context;
  const voice = await createVoice({ options, context, substitutes }, closing);
  servePages(voice.app, { directory: join(import.meta.dirname, 'dist'), assets: 'static' });
  const server = await serve(voice.app, { host: options.host, port: options.port, portVariable, logger });
  closing.defer(() => server.stop());
  voice.announce(server);
  await startTranslator(voice, options, closing);
  voice.research.resume();
  const running = closing.move();
  const service: Service = {
    url: server.url,
    missing: voice.missing,
    routes: () => listRoutes(voice.app),
    requiresKey: () => voice.users.source !== 'empty' || options.a2aAuthToken !== undefined,
    stop: () => running.disposeAsync(),
  };
  return { service, voice };
}

type Voice = Awaited<ReturnType<typeof createVoice>>;

interface VoiceSetup {
  options: VoiceOptions;
  context: ServiceContext;
  substitutes: Substitutes;
}

/** Everything but the ports. */
async function createVoice(setup: VoiceSetup, closing: AsyncDisposableStack) {
  const { options, context, substitutes } = setup;
  const { logger } = context;
  const places = await findPlaces(options, logger);
  await seedConfig(places.config);
  const database = openVoiceDatabase(places.store);
  closing.defer(() => database.close());
  const core = await createCore({ options, context, places, database }, closing);
  const tools = createTools(core, closing);
  const speech = createSpeech(core, closing);
  const persona = createPersonas(core, tools.toolbox);
  const address: { url: string | undefined } = { url: options.publicUrl };
  const metrics = createMetrics({ prefix: 'voice' });
  const app = createVoiceApp(core, metrics, speech);
  const latency = createLatencyLog(metrics);
  mountApi(app, core, speech, latency);
  const talks = createTalks(core, { persona, speech: speech.speech, latency });
  closing.defer(() => talks.stop());
  const converse = substitutes.converse ?? talks.begin;
  const calls = createCalls(core, metrics, { ...substitutes, converse });
  closing.defer(() => calls.stop());
  mountOffer(app, calls);
  mountIce(app, options.iceServers);
  mountAgent(app, core, persona, () => address.url ?? `http://${options.host}:${options.port}`, closing);
  return {
    app,
    ...core,
    ...speech,
    /** As whom a user is answered from now on; called when a session connects. */
    persona,
    talks,
    research: tools.research,
    mcp: tools.mcp,
    missing: () => missingParts(core.gateway.describe(), core),
    /** Tells where the service listens. */
    announce: (server: RunningServer) => {
      address.url ??= server.url;
    },
  };
}

function createVoiceApp(core: Core, metrics: Metrics, { speech }: Speech): VoiceApp {
  const { options, context, users, operator, admission, sessions, delegates, library, gateway, logger } =
    core;
  const { services = () => [] } = context;
  const model = () => gateway.describe();
  return createApp<User>({
    service: 'voice',
    access: { operator, serviceToken: context.peers?.serviceToken },
    a2aOrigins: options.a2aAllowedOrigins,
    uploadPaths: ['/api/voice/clone'],
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics,
    renderError: renderVoiceError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    bodyLimits: { '/api/voice/clone': 32 * megabyte },
    health: () => ({
      status: 200,
      body: healthBody({
        options,
        users,
        admission,
        sessions,
        delegates,
        library,
        model,
        services,
        speech: speech.describe,
      }),
    }),
  });
}

function mountApi(app: VoiceApp, core: Core, speech: Speech, latency: LatencyLog): void {
  const { options, users, admission, library, selection, preferences, delegates, counters, sessions } = core;
  const { openCaller, trustedCaller, refuse } = admission;
  app.use(
    '/api/*',
    callerGuard<User>({
      keyring: () => users.keyring,
      openCaller,
      trustedCaller,
      principalOf: ({ id }) => ({ kind: 'person', id: `voice:${id}`, via: [] }),
      refuse,
    }),
  );
  requireKeyToConfigure(app, core.operator);
  mountUsers(app, users);
  mountVerbosity(app, { preferences, standard: options.verbosity });
  mountSkills(app, { library, selection, users });
  mountDelegates(app, delegates);
  mountVoice(app, { backend: options.ttsBackend, counters, sidecar: speech.sidecar, cloner: speech.cloner });
  mountMetrics(app, { counters, sessions, latency });
}

/** Routes that change how the service answers. */
const configuringPaths = [
  '/api/users/reload',
  '/api/skills/reload',
  '/api/delegates/reload',
  '/api/admin/skills',
  '/api/voice/clone',
];

/** Whoever has no key of their own, as everybody in single-user mode, needs the operator's there. */
function requireKeyToConfigure(app: VoiceApp, operator: OperatorAccess): void {
  const guard = requireOperator(operator);
  for (const path of configuringPaths)
    app.use(path, (context, next) =>
      context.get('principal').kind === 'anonymous' ? guard(context, next) : next(),
    );
}

/** The callback comes first: it has a guard of its own. */
function mountAgent(
  app: VoiceApp,
  core: Core,
  persona: (user: User, principal: Principal) => Persona,
  publicUrl: () => string,
  closing: AsyncDisposableStack,
): void {
  const { options, users, admission, delivery, tokens, questions, counters, database, places, logger } = core;
  const { a2aAuthToken: token, a2aUserId: id } = options;
  const recipient = () => users.find(id)?.id;
  mountCallback(app, { delivery, tokens, questions, authToken: token, admission, recipient });
  const answering = (sender: Principal) => {
    // A roster that cannot be read may have limited this user.
    if (users.closedBecause !== undefined) throw new PersonaUnavailableError(users.closedBecause);
    return persona(users.find(id) ?? { ...defaultUser, id, displayName: id, role: 'user' }, sender);
  };
  const server = createA2aServer({
    directory: places.store,
    executor: createTextTurn({ persona: answering, conversations: new Conversations(database) }),
    card: () => describeVoice(options.agentName, publicUrl()),
    cardForm: '0.3',
    guardCard: token !== undefined,
    credentials: token === undefined ? {} : { bearer: token, apiKey: token, require: 'any' },
    closedBecause: admission.operatorOnlyBecause,
    allowedOrigins: options.a2aAllowedOrigins,
    observer: { turnStarted: () => counters.inboundMessage() },
    logger,
  });
  closing.defer(() => server.stop());
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json'])
    app.use(path, advertiseApiKey());
  server.mount(app);
}

async function startTranslator(
  voice: Voice,
  options: VoiceOptions,
  closing: AsyncDisposableStack,
): Promise<void> {
  const {
    translatorPort: port,
    host,
    sidecarSampleRate: sampleRate,
    sidecarReferenceId: defaultVoice,
  } = options;
  if (port === undefined) return;
  const { sidecar, users, admission, logger } = voice;
  const app = createTranslator({
    sidecar,
    sampleRate,
    defaultVoice,
    users,
    admission,
    version: manifest.version,
    allowedHosts: options.allowedHosts,
    logger,
  });
  const server = await serve(app, { host, port, portVariable: 'TRANSLATOR_PORT', logger });
  closing.defer(() => server.stop());
  logger.info({ url: server.url }, 'speech for others is served');
}
