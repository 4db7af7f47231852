import { join } from 'node:path';
import { createApp, listRoutes, serve, servePages } from '@trunkline/http';
import type { Service, ServiceContext } from '@trunkline/service';
import { createComponents, type Substitutes, type VoiceComponents } from './components.ts';
import { renderVoiceError } from './errors.ts';
import { healthBody, missingParts } from './health.ts';
import type { VoiceOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountRoutes } from './routes/routes.ts';
import type { VoiceApp } from './routes/voice-app.ts';
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
    missing: () => missingParts(voice.gateway.describe(), voice),
    routes: () => listRoutes(app),
    requiresKey: () => voice.users.source !== 'empty' || options.a2aAuthToken !== undefined,
    stop: () => running.disposeAsync(),
  };
  return { service, voice };
}

function createVoiceApp(voice: VoiceComponents): VoiceApp {
  const { options, context, users, operator, admission, sessions, delegates, library, gateway, logger } =
    voice;
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
    metrics: voice.metrics,
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
        speech: voice.speech.describe,
      }),
    }),
  });
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
  logger.info({ url: server.url }, 'speech for others is served');
}
