import { join } from 'node:path';
import { withGrpc } from '@trunkline/a2a';
import { createApp, listRoutes, serve, servePages } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import {
  component,
  type Missing,
  missingModel,
  missingSettings,
  modelStatus,
  mountSetup,
  mountTrust,
  type Service,
  type ServiceContext,
  secretsOf,
  servicesOf,
  settingsOf,
  signInOf,
  startComponents,
} from '@trunkline/service';
import { type Substitutes, type VoiceApp, type VoiceComponents, voiceComponents } from './components.ts';
import { renderVoiceError } from './errors.ts';
import { voiceExposures } from './exposure.ts';
import { type VoiceOptions, voiceOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { mountRoutes } from './routes/table.ts';
import { createTranslator } from './speech/translator/app.ts';
import { defaultUser, type User } from './users/user.ts';

const megabyte = 1024 * 1024;

/** Starts the service. */
export async function start(options: VoiceOptions, context: ServiceContext): Promise<Service> {
  return (await launch(options, context)).service;
}

/** Starts the service and gives its components too, for the tests, which may put others in their place. */
export async function launch(options: VoiceOptions, context: ServiceContext, substitutes?: Substitutes) {
  const { logger, portVariable = 'PORT' } = context;
  const { host, port } = options;
  const voice = voiceComponents(options, context, substitutes);
  const app = component('routes', voice, createVoiceApp);
  const server = component(
    'server',
    { app, address: voice.address },
    async ({ app, address }) => {
      const http = await serve(app, { host, port, portVariable, logger });
      const server = await withGrpc(options, 'VOICE', http, logger);
      address.listen(server.url, server.grpcPort);
      return server;
    },
    (server) => server.stop(),
  );
  const { sidecar, users, admission, research } = voice;
  const translator = component(
    'speech translator',
    { sidecar, users, admission },
    (deps) => startTranslator(options, context, deps),
    (server) => server?.stop(),
  );
  const resumed = component('resumed research', { server, research }, ({ research }) => research.resume());
  const { values, stop } = await startComponents({ ...voice, app, server, translator, resumed });
  const service: Service = {
    url: values.server.url,
    missing: () => missing(values),
    routes: () => listRoutes(values.app),
    problem: async () => (await values.gateway.problem())?.message,
    requiresKey: () => requiresKey(values),
    stop,
  };
  return { service, voice: values };
}

function createVoiceApp(voice: VoiceComponents): VoiceApp {
  const { options, service, operator, accounts, audit } = voice.context;
  const app = createApp<User>({
    service: 'voice',
    examples: join(import.meta.dirname, 'routes/examples.json'),
    access: {
      operator,
      accounts,
      serviceToken: service.peers?.serviceToken,
      audit,
      provider: signInOf(options, service),
    },
    a2aOrigins: options.a2aAllowedOrigins,
    uploadPaths: ['/api/voice/clone', '/operator/setup/speech/hear'],
    version: manifest.version,
    description: manifest.description,
    logger: service.logger,
    metrics: voice.metrics,
    renderError: renderVoiceError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    limits: options,
    bodyLimits: { '/api/voice/clone': 32 * megabyte, '/operator/setup/speech/hear': 4 * megabyte },
    health: async (asker) => {
      const { kind } = await voice.sandbox.status();
      return { status: 200, body: { ...(await healthBody(voice, asker)), sandbox: kind } };
    },
  });
  mountTrust(app, {
    service: 'voice',
    operator,
    accounts,
    audit,
    secrets: secretsOf(options, service),
    settings: settingsOf(voiceOptions, service),
    policy: voice.context.policy,
    home: options.trunklineHome,
    exposures: () =>
      voiceExposures(options, {
        keys: Object.fromEntries(voice.users.keyring.entries.map(({ caller, facts }) => [caller.id, facts])),
        isOpen: voice.admission.openCaller() !== undefined,
        isOperatorOnly: voice.admission.operatorOnlyBecause() !== undefined,
      }),
    toolTrust: () => ({
      configured: voice.mcp.servers.map((server) => ({
        ...{ kind: 'MCP server', name: server.name, file: 'mcp.yaml of voice' },
        trusted: server.trusted,
        sandbox: server.transport === 'stdio' ? server.sandbox : undefined,
      })),
      commandHosts: [],
    }),
    sandbox: voice.sandbox,
    agents: () => ['voice'],
    tools: () => voice.toolsFor({ ...voice.library.base, tools: undefined }, defaultUser),
  });
  mountSetup(app, {
    service: 'voice',
    operator,
    audit,
    secrets: secretsOf(options, service),
    options,
    env: service.env,
    logger: service.logger,
    overrides: service.overrides,
  });
  mountRoutes(app, voice);
  servePages(app, { directory: join(import.meta.dirname, 'dist'), assets: 'static' });
  return app;
}

const requiresKey = ({ users, context: { options } }: VoiceComponents) =>
  users.source !== 'empty' || options.a2aAuthToken !== undefined;

/** What the service says about itself to everyone. */
async function healthBody(voice: VoiceComponents, asker: Principal) {
  const { context, users, sessions, delegates, library, speech, gateway } = voice;
  const { options, service } = context;
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
    model: await modelStatus(gateway, { asker, requiresKey: requiresKey(voice) }),
    missing: missing(voice),
    services: await servicesOf(options, service)(),
  };
}

/** What keeps the service from its full function, and what to do about it. */
function missing(voice: VoiceComponents): Missing[] {
  const hint = rosterHint(voice);
  const found = [...missingModel(voice.gateway.describe()), ...missingSettings(voice.context.service)];
  return hint === undefined ? found : [...found, { what: 'Users', variable: 'CONFIG_DIR', hint }];
}

function rosterHint({ users, admission }: VoiceComponents): string | undefined {
  const { closedBecause, outdatedBecause } = users;
  if (closedBecause !== undefined)
    return `Nobody can call until the roster of users is mended. ${closedBecause}`;
  if (outdatedBecause !== undefined) return `The last good roster of users is in use. ${outdatedBecause}`;
  return admission.operatorOnlyBecause();
}

async function startTranslator(
  options: VoiceOptions,
  { logger }: ServiceContext,
  deps: Pick<VoiceComponents, 'sidecar' | 'users' | 'admission'>,
) {
  const { translatorPort: port, host, allowedHosts } = options;
  if (port === undefined) return undefined;
  const app = createTranslator({
    ...deps,
    sampleRate: options.sidecarSampleRate,
    defaultVoice: options.sidecarReferenceId,
    version: manifest.version,
    allowedHosts,
    limits: options,
    logger,
  });
  const server = await serve(app, { host, port, portVariable: 'TRANSLATOR_PORT', logger });
  logger.info({ url: server.url }, 'speech translator started');
  return server;
}
