import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
import { mountAuditLog } from '@trunkline/audit';
import { readVariable } from '@trunkline/config';
import {
  type AppEnv,
  createApp,
  createGuardedFetch,
  createMetrics,
  listRoutes,
  type RenderError,
  serve,
  servePages,
} from '@trunkline/http';
import { createModelGateway } from '@trunkline/llm';
import { mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import {
  auditOf,
  missingModel,
  operatorOf,
  type Peers,
  peerOrigins,
  type Service,
  type ServiceContext,
} from '@trunkline/service';
import { type Database, openDatabase, serviceHome } from '@trunkline/storage';
import type { Hono } from 'hono';
import type { SourceKind } from './api-types.ts';
import { ConversationStore } from './chat/conversations.ts';
import { PdfPrinter } from './exports/pdf.ts';
import { createResearchExecutor, researchSkill } from './interfaces/deep-research.ts';
import { researchModels } from './interfaces/openai-models.ts';
import type { ResearchOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { ExtractionPool } from './reading/extraction-pool.ts';
import { HostQueue, Reader } from './reading/reader.ts';
import { ResearchEngine } from './research/engine.ts';
import { ResearchModel } from './research/model.ts';
import { mountChat } from './routes/chat.ts';
import { mountFiles } from './routes/files.ts';
import { exposureWarning, mountGuards, tokenGuard } from './routes/guards.ts';
import { mountMcp } from './routes/mcp.ts';
import { mountExports, mountShares } from './routes/reports.ts';
import { mountQuestions, mountResearch } from './routes/research.ts';
import { createSources, missingSources, sourceDefinitions } from './sources/catalogue.ts';
import { SearchAggregator } from './sources/search-aggregator.ts';
import type { SourceDefinition } from './sources/source.ts';
import { DocumentStore } from './store/documents.ts';
import { AnswerStore, FindingStore } from './store/findings.ts';
import { JobStore, ShareStore } from './store/jobs.ts';
import { migrations } from './store/schema.ts';

const KINDS: readonly SourceKind[] = ['web', 'encyclopedia', 'files'];
const MEGABYTE = 1024 * 1024;
const PAGES_AT_ONCE = 32;

/** Starts the service; the only place that names its concrete components. */
export async function start(
  options: ResearchOptions,
  context: ServiceContext,
  definitions: readonly SourceDefinition[] = sourceDefinitions,
): Promise<Service> {
  const { logger, services = () => [], portVariable = 'PORT' } = context;
  const home = serviceHome(options.trunklineHome, 'research');
  const warning = exposureWarning(options.host, options.authToken);
  if (warning !== undefined) logger.warn({ host: options.host }, warning);
  await using closing = new AsyncDisposableStack();
  const database = openDatabase(join(home, 'research.db'), { migrations });
  closing.defer(() => database.close());
  const components = createComponents(options, database, context, definitions);
  const { aggregator, sources, gateway, engine, pool } = components;
  closing.defer(() => pool.stop());
  const missing = () => [...missingModel(gateway.describe()), ...missingSources(definitions, sources)];
  const guard = tokenGuard(options.authToken);
  const operator = operatorOf(options, context);
  const audit = auditOf(options, context);
  const app = createApp({
    service: 'research',
    access: { operator, serviceToken: context.peers?.serviceToken, audit },
    uploadPaths: ['/api/files'],
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'research' }),
    renderError,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    guard,
    bodyLimits: { '/api/files': options.uploadLimit * MEGABYTE },
    health: () => ({
      status: 200,
      body: {
        ok: true,
        model: gateway.describe(),
        sources: aggregator.health(),
        missing: missing(),
        services: services(),
      },
    }),
  });
  mountGuards(app, guard);
  mountAuditLog(app, audit, operator);
  const closeMcp = mountRoutes(app, components);
  const address = { url: '' };
  const a2a = openA2a(options, components, {
    home,
    logger,
    peers: context.peers,
    url: () => address.url,
  });
  closing.defer(() => a2a.stop());
  a2a.mount(app);
  const directory = join(import.meta.dirname, 'dist');
  servePages(app, { directory, base: '/share', fallback: 'share.html' });
  servePages(app, { directory });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger });
  address.url = server.url;
  engine.resume();
  const stopProbing = probeSources(aggregator, logger);
  closing.defer(async () => {
    // Jobs are broken off before the callers that wait for them, so that they go on after the next start.
    await Promise.all([engine.stop(), closeMcp(), server.stop(), stopProbing()]);
  });
  const running = closing.move();
  return {
    url: server.url,
    missing,
    routes: () => listRoutes(app),
    stop: () => running.disposeAsync(),
    requiresKey: () => options.authToken !== undefined,
  };
}

/** Under `/v1` failures have the form of OpenAI's API. */
const renderError: RenderError = (error, { path }) => ({
  body: path.startsWith('/v1/') ? openAiErrorBody(error) : { error: error.message },
});

type Components = ReturnType<typeof createComponents>;

/** Every route but those of A2A and the pages; gives what ends the sessions of MCP clients. */
function mountRoutes(app: Hono<AppEnv>, components: Components): () => Promise<void> {
  mountChat(app, components);
  mountResearch(app, { ...components, kinds: KINDS });
  mountQuestions(app, components);
  mountShares(app, components);
  mountExports(app, components);
  mountFiles(app, components);
  mountOpenAiApi(app, researchModels(components));
  return mountMcp(app, { ...components, version: manifest.version });
}

interface A2aDeps {
  home: string;
  logger: ServiceContext['logger'];
  peers: Peers | undefined;
  /** Known once the service listens. */
  url(): string;
}

function openA2a(options: ResearchOptions, components: Components, { home, logger, peers, url }: A2aDeps) {
  const { authToken: bearer, publicUrl } = options;
  return createA2aServer({
    directory: join(home, 'a2a'),
    executor: createResearchExecutor(components),
    card: () => ({
      name: 'research',
      description: manifest.description,
      version: manifest.version,
      publicUrl: publicUrl ?? url(),
      skills: [researchSkill],
    }),
    ...(bearer !== undefined && { credentials: { bearer } }),
    push: {
      allowedHosts: options.pushAllowedHosts,
      allowedCidrs: options.pushAllowedCidrs,
      allowedOrigins: () => peerOrigins(peers),
    },
    warnWhenOpen: false,
    logger,
  });
}

const PROBE_EVERY_MS = 60_000;

/** Probes the sources now and every minute, so that `/healthz` reports one that died unused. */
function probeSources(aggregator: SearchAggregator, logger: ServiceContext['logger']): () => Promise<void> {
  const stop = new AbortController();
  const probe = () =>
    aggregator.probe(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) logger.warn({ err: error }, 'failed to probe the sources');
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

function createComponents(
  options: ResearchOptions,
  database: Database,
  { logger, env }: ServiceContext,
  definitions: readonly SourceDefinition[],
) {
  const timeoutMs = options.modelTimeout * 1000;
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
    timeoutMs,
    firstTokenTimeoutMs: timeoutMs,
    logger,
  });
  const [documents, jobs, findings] = [
    new DocumentStore(database),
    new JobStore(database),
    new FindingStore(database),
  ];
  documents.removeUnfinished();
  const sources = createSources(definitions, options, {
    documents,
    timeoutMs: options.searchTimeout * 1000,
  });
  const aggregator = new SearchAggregator({ sources });
  const pool = new ExtractionPool();
  const hosts = new HostQueue({ perHost: options.perHost, pauseMs: options.hostPause, total: PAGES_AT_ONCE });
  const fetch = createGuardedFetch({
    allowedHosts: options.fetchAllowedHosts,
    allowedCidrs: options.fetchAllowedCidrs,
    timeoutMs: options.pageTimeout * 1000,
    maxBytes: 10 * MEGABYTE,
  });
  const reader = new Reader({ fetch, pool, hosts, aggregator, documents });
  const model = new ResearchModel(gateway, options.modelCalls);
  const settings = {
    parallelDimensions: options.parallelDimensions,
    sourcesPerDimension: options.sourcesPerDimension,
    modelChecks: options.modelChecks,
    checksTimeoutMs: timeoutMs,
  };
  const engine = new ResearchEngine(
    { jobs, findings, documents, aggregator, reader, model, settings },
    logger,
  );
  const domains = { allow: options.allowDomains, deny: options.denyDomains };
  return {
    gateway,
    documents,
    jobs,
    findings,
    aggregator,
    sources,
    pool,
    engine,
    model,
    settings,
    domains,
    conversations: new ConversationStore(database),
    shares: new ShareStore(database),
    answers: new AnswerStore(database),
    printer: new PdfPrinter({ program: options.chromium, path: readVariable('PATH', env) ?? '' }),
    jobOptions: { reviewPlan: false, budget: {}, domains, sources: KINDS },
    turnTimeoutMs: timeoutMs,
  };
}
