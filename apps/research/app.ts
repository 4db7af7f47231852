import { join } from 'node:path';
import { withGrpc } from '@trunkline/a2a';
import { readVariable } from '@trunkline/config';
import {
  type App,
  createApp,
  createMetrics,
  listRoutes,
  type RenderError,
  serve,
  servePages,
} from '@trunkline/http';
import { openAiErrorBody } from '@trunkline/openai-api';
import { createSandbox } from '@trunkline/sandbox';
import {
  accountsOf,
  auditOf,
  component,
  missingModel,
  missingSettings,
  modelStatus,
  mountSetup,
  mountTrust,
  operatorOf,
  type Service,
  type ServiceContext,
  secretsOf,
  servicesOf,
  settingsOf,
  signInOf,
  startComponents,
} from '@trunkline/service';
import { serviceHome } from '@trunkline/storage';
import { TurnCharts } from './chat/charts.ts';
import { createChatTools, TurnSources } from './chat/tools.ts';
import { type Research, researchComponents } from './components.ts';
import { PdfPrinter } from './exports/pdf.ts';
import { researchExposures } from './exposure.ts';
import { type ResearchOptions, researchOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { exposureWarning, tokenGuard } from './routes/guards.ts';
import { mountRoutes } from './routes/table.ts';
import { missingSources, sourceDefinitions } from './sources/catalogue.ts';
import type { SearchAggregator } from './sources/search-aggregator.ts';
import type { SourceDefinition } from './sources/source.ts';

const MEGABYTE = 1024 * 1024;
const PROBE_EVERY_MS = 60_000;

/** Starts the service. */
export async function start(
  options: ResearchOptions,
  service: ServiceContext,
  definitions: readonly SourceDefinition[] = sourceDefinitions,
): Promise<Service> {
  const { logger, portVariable = 'PORT' } = service;
  const { host, port } = options;
  const warning = exposureWarning(host, options.authToken);
  if (warning !== undefined) logger.warn({ host }, warning);
  const research = researchComponents(options, service, definitions);
  const missing = ({ gateway, sources }: Research) => [
    ...missingModel(gateway.describe()),
    ...missingSettings(service),
    ...missingSources(definitions, sources),
  ];
  const routes = component(
    'routes',
    research,
    (running) => createResearchApp(options, service, running, () => missing(running)),
    ({ close }) => close(),
  );
  const server = component(
    'server',
    { routes, address: research.address },
    async ({ routes: { app }, address }) => {
      const http = await serve(app, { host, port, portVariable, logger });
      const server = await withGrpc(options, 'RESEARCH', http, logger);
      address.listen(server.url, server.grpcPort);
      return server;
    },
    (server) => server.stop(),
  );
  const probes = component(
    'source probes',
    { server, aggregator: research.aggregator },
    ({ aggregator }) => probeSources(aggregator, logger),
    (stop) => stop(),
  );
  // Jobs are broken off before the server leaves the callers that wait for them, so that they go on after the next start.
  const jobs = component(
    'jobs',
    { server, engine: research.engine },
    ({ engine }) => {
      engine.resume();
      return engine;
    },
    (engine) => engine.stop(),
  );
  const { values, stop } = await startComponents({ ...research, routes, server, probes, jobs });
  return {
    url: values.server.url,
    missing: () => missing(values),
    routes: () => listRoutes(values.routes.app),
    stop,
    requiresKey: () => options.authToken !== undefined,
    problem: async () => (await values.gateway.problem())?.message,
  };
}

function createResearchApp(
  options: ResearchOptions,
  service: ServiceContext,
  research: Research,
  missing: () => object[],
): { app: App; close(): Promise<void> } {
  const { gateway, aggregator } = research;
  const { logger, peers, env } = service;
  const services = servicesOf(options, service);
  const guard = tokenGuard(options.authToken);
  const [operator, audit] = [operatorOf(options, service), auditOf(options, service)];
  const accounts = accountsOf(options, service);
  // Research starts no program that others chose; its peers do, under the same setting.
  const sandbox = createSandbox({ mode: options.sandbox });
  const app = createApp({
    service: 'research',
    examples: join(import.meta.dirname, 'routes/examples.json'),
    access: {
      operator,
      accounts,
      serviceToken: peers?.serviceToken,
      audit,
      provider: signInOf(options, service),
    },
    uploadPaths: ['/api/files'],
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'research' }),
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    limits: options,
    guard,
    bodyLimits: { '/api/files': options.uploadLimit * MEGABYTE },
    health: async (asker) => ({
      status: 200,
      body: {
        ok: true,
        model: await modelStatus(gateway, { asker, requiresKey: options.authToken !== undefined }),
        sources: aggregator.health(),
        missing: missing(),
        services: await services(),
        sandbox: (await sandbox.status()).kind,
      },
    }),
  });
  const printer = new PdfPrinter({ program: options.chromium, path: readVariable('PATH', env) ?? '' });
  mountTrust(app, {
    service: 'research',
    operator,
    accounts,
    audit,
    secrets: secretsOf(options, service),
    settings: settingsOf(researchOptions, service),
    policy: research.policyFile,
    home: options.trunklineHome,
    exposures: () => researchExposures(options),
    sandbox,
    agents: () => ['research'],
    tools: () =>
      createChatTools({
        aggregator,
        sources: new TurnSources(),
        charts: new TurnCharts(),
        isOver: () => false,
        owner: '',
      }),
  });
  mountSetup(app, {
    service: 'research',
    operator,
    audit,
    secrets: secretsOf(options, service),
    options,
    env: service.env,
    logger: service.logger,
    overrides: service.overrides,
  });
  const mcpTasksFile = join(serviceHome(options.trunklineHome, 'research'), 'mcp-tasks.db');
  const close = mountRoutes(app, research, {
    guard,
    operator,
    printer,
    sourceOptions: options,
    mcpTasksFile,
  });
  const directory = join(import.meta.dirname, 'dist');
  servePages(app, { directory, base: '/share', fallback: 'share.html' });
  servePages(app, { directory });
  return { app, close };
}

/** Under `/v1` failures have the form of OpenAI's API. */
const renderError: RenderError = (error, { path }) => ({
  body: path.startsWith('/v1/') ? openAiErrorBody(error) : { error: error.message },
});

/** Probes the sources now and every minute, so that `/healthz` reports one that died unused. */
function probeSources(aggregator: SearchAggregator, logger: ServiceContext['logger']): () => Promise<void> {
  const stop = new AbortController();
  const probe = () =>
    aggregator.probe(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) logger.warn({ err: error }, 'failed to probe sources');
    });
  let probing = probe();
  const timer = setInterval(() => {
    probing = probing.then(probe);
  }, PROBE_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await probing;
  };
}
