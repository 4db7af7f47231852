import { join } from 'node:path';
import { createApp, listRoutes, serve, servePages } from '@trunkline/http';
import { type Missing, missingModel, type Service, type ServiceContext } from '@trunkline/service';
import { createComponents, type Substitutes, type VoiceApp, type VoiceComponents } from './components.ts';
import { renderVoiceError } from './errors.ts';
import type { VoiceOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountRoutes } from './routes/routes.ts';
import { createTranslator } from './speech/translator/app.ts';
import type { User } from './users/user.ts';

const megabyte = 1024 * 1024;

/** Starts the service. */
export async function start(options: VoiceOptions, context: ServiceContext): Promise<Service> {
  return (await launch(options, context)).service;
}

/** Starts the service and gives its components too, for the tests, which may put others in their place. */
export async function launch(options: VoiceOptions, context: ServiceContext, substitutes: Substitutes = {}) {
  await using closing = new AsyncDisposableStack();
  const { logger, portVariable = 'PORT' } = context;
  const voice = await createComponents({ options, context, substitutes }, closing);
  const app = createVoiceApp(voice);
  mountRoutes(app, voice);
  servePages(app, { directory: join(import.meta.dirname, 'dist'), assets: 'static' });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  closing.defer(() => server.stop());
  voice.address.url = options.publicUrl ?? server.url;
  await startTranslator(voice, closing);
  voice.research.resume();
  const running = closing.move();
  const service: Service = {
    url: server.url,
    missing: () => missing(voice),
    routes: () => listRoutes(app),
    requiresKey: () => voice.users.source !== 'empty' || options.a2aAuthToken !== undefined,
    stop: () => running.disposeAsync(),
  };
  return { service, voice };
}

function createVoiceApp(voice: VoiceComponents): VoiceApp {
  const { options, context, operator, logger, metrics } = voice;
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
    health: () => ({ status: 200, body: healthBody(voice) }),
  });
}

/** What the service says about itself to everyone. */
function healthBody(voice: VoiceComponents) {
  const { options, context, users, sessions, delegates, library, speech, gateway } = voice;
  return {
    status: 'ok',
    stt_backend: options.sttBackend,
    tts_backend: options.ttsBackend,
    auth_source: users.source,
    user_count: users.ids.length,
    active_sessions: sessions.users,
    delegates: delegates.entries.map(({ name, type }) => ({ name, type })),
    skills: library.slugs,
    audio: {
      half_duplex: options.halfDuplex,
      echo_guard_ms: options.echoGuardMs,
      noise_filter: options.noiseFilter,
      smart_turn: options.smartTurn,
    },
    speech: speech.describe(),
    model: gateway.describe(),
    missing: missing(voice),
    services: context.services?.() ?? [],
  };
}

/** What keeps the service from its full function, and what to do about it. */
function missing(voice: VoiceComponents): Missing[] {
  const hint = rosterHint(voice);
  const found = missingModel(voice.gateway.describe());
  return hint === undefined ? found : [...found, { what: 'Users', variable: 'CONFIG_DIR', hint }];
}

function rosterHint({ users, admission }: VoiceComponents): string | undefined {
  const { closedBecause, outdatedBecause } = users;
  if (closedBecause !== undefined)
    return `Nobody can call until the roster of users is mended. ${closedBecause}`;
  if (outdatedBecause !== undefined) return `The last good roster of users is in use. ${outdatedBecause}`;
  return admission.operatorOnlyBecause();
}

async function startTranslator(voice: VoiceComponents, closing: AsyncDisposableStack): Promise<void> {
  const {
    translatorPort: port,
    host,
    sidecarSampleRate: sampleRate,
    sidecarReferenceId: defaultVoice,
  } = voice.options;
  if (port === undefined) return;
  const { sidecar, users, admission, options, logger } = voice;
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
  logger.info({ url: server.url }, 'speech translator started');
}
