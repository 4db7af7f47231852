import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
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
import { createModelGateway, type ModelDescription } from '@trunkline/llm';
import { mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import {
  type Missing,
  missingModel,
  operatorOf,
  type Peers,
  peerOrigins,
  type Service,
  type ServiceContext,
} from '@trunkline/service';
import { type Database, openDatabase, serviceHome } from '@trunkline/storage';
import { createDuckDuckGo, createSearxng } from '@trunkline/tools';
import type { Hono } from 'hono';
import { ConversationStore } from './chat/conversations.ts';
import { PdfPrinter } from './exports/pdf.ts';
import { createResearchExecutor, researchSkill } from './interfaces/a2a-executor.ts';
import { researchModels } from './interfaces/openai-models.ts';
import type { ResearchOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { ExtractionPool } from './reading/extraction-pool.ts';
import { HostQueue } from './reading/host-queue.ts';
import { Reader } from './reading/reader.ts';
import { ResearchEngine } from './research/engine.ts';
import { ResearchModel } from './research/model.ts';
import { mountChat } from './routes/chat.ts';
import { mountExports } from './routes/exports.ts';
import { mountFiles } from './routes/files.ts';
import { exposureWarning, mountGuards, tokenGuard } from './routes/guards.ts';
import { mountMcp } from './routes/mcp.ts';
import { mountQuestions } from './routes/questions.ts';
import { mountResearch } from './routes/research.ts';
import { mountShares } from './routes/shares.ts';
import { SearchDesk } from './sources/desk.ts';
import { createKeyless } from './sources/keyless.ts';
import { createMediawiki } from './sources/mediawiki.ts';
import { createSearxngSource } from './sources/searxng.ts';
import type { Source, SourceKind } from './sources/source.ts';
import { createStored } from './sources/stored.ts';
import { AnswerStore } from './store/answers.ts';
import { DocumentStore } from './store/documents.ts';
import { FindingStore } from './store/findings.ts';
import { JobStore } from './store/jobs.ts';
import { migrations } from './store/schema.ts';
import { ShareStore } from './store/shares.ts';

const KINDS: readonly SourceKind[] = ['web', 'encyclopedia', 'files'];
const MEGABYTE = 1024 * 1024;
const PAGES_AT_ONCE = 32;

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: ResearchOptions, context: ServiceContext): Promise<Service> {
  const { logger, services = () => [], portVariable = 'PORT' } = context;
  const home = serviceHome(options.trunklineHome, 'research');
  const warning = exposureWarning(options.host, options.authToken);
  if (warning !== undefined) logger.warn({ host: options.host }, warning);
  await using closing = new AsyncDisposableStack();
  const database = openDatabase(join(home, 'research.db'), { migrations });
  closing.defer(() => database.close());
  const parts = createParts(options, database, context);
  const { desk, gateway, engine, pool } = parts;
  closing.defer(() => pool.stop());
  const missing = () => missingParts(options, gateway.describe());
  const guard = tokenGuard(options.authToken);
  const operator = operatorOf(options, context);
  const app = createApp({
    service: 'research',
    access: { operator, serviceToken: context.peers?.serviceToken },
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
        sources: desk.health(),
        missing: missing(),
        services: services(),
      },
    }),
  });
  mountGuards(app, guard);
  const closeMcp = mountRoutes(app, parts);
  const address = { url: '' };
  const a2a = openA2a(options, parts, {
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
  const stopLooking = lookAfterSources(desk, logger);
  closing.defer(async () => {
    // Jobs are broken off before the callers that wait for them, so that they go on after the next start.
    await Promise.all([engine.stop(), closeMcp(), server.stop(), stopLooking()]);
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

type Parts = ReturnType<typeof createParts>;

/** Every route but those of A2A and the pages; gives what ends the sessions of MCP clients. */
function mountRoutes(app: Hono<AppEnv>, parts: Parts): () => Promise<void> {
  mountChat(app, parts);
  mountResearch(app, { ...parts, kinds: KINDS });
  mountQuestions(app, parts);
  mountShares(app, parts);
  mountExports(app, parts);
  mountFiles(app, parts);
  mountOpenAiApi(app, researchModels(parts));
  return mountMcp(app, { ...parts, version: manifest.version });
}

interface A2aDeps {
  home: string;
  logger: ServiceContext['logger'];
  peers: Peers | undefined;
  /** Known once the service listens. */
  url(): string;
}

function openA2a(options: ResearchOptions, parts: Parts, { home, logger, peers, url }: A2aDeps) {
  const { authToken: bearer, publicUrl } = options;
  return createA2aServer({
    directory: join(home, 'a2a'),
    executor: createResearchExecutor(parts),
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

/** Looks at the search services now and every minute, so that `/healthz` tells of one that died unused. */
function lookAfterSources(desk: SearchDesk, logger: ServiceContext['logger']): () => Promise<void> {
  const stop = new AbortController();
  const look = () =>
    desk.probe(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) logger.warn({ err: error }, 'the search services could not be looked at');
    });
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, PROBE_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await looking;
  };
}

function createParts(options: ResearchOptions, database: Database, { logger, env }: ServiceContext) {
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
  const desk = new SearchDesk({ sources: createSources(options, documents) });
  const pool = new ExtractionPool();
  const hosts = new HostQueue({ perHost: options.perHost, pauseMs: options.hostPause, total: PAGES_AT_ONCE });
  const fetch = createGuardedFetch({
    allowedHosts: options.fetchAllowedHosts,
    allowedCidrs: options.fetchAllowedCidrs,
    timeoutMs: options.pageTimeout * 1000,
    maxBytes: 10 * MEGABYTE,
  });
  const reader = new Reader({ fetch, pool, hosts, desk, documents });
  const model = new ResearchModel(gateway, options.modelCalls);
  const settings = {
    parallelDimensions: options.parallelDimensions,
    sourcesPerDimension: options.sourcesPerDimension,
    modelChecks: options.modelChecks,
    checksTimeoutMs: timeoutMs,
  };
  const engine = new ResearchEngine({ jobs, findings, documents, desk, reader, model, settings }, logger);
  const domains = { allow: options.allowDomains, deny: options.denyDomains };
  return {
    gateway,
    documents,
    jobs,
    findings,
    desk,
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

/** What is configured, and always what is stored here; pages read before stand in where no web search is configured. */
function createSources(options: ResearchOptions, documents: DocumentStore): Source[] {
  const timeoutMs = options.searchTimeout * 1000;
  const { searxngUrl, searxngBasicAuth: basicAuth, encyclopediaUrl, keylessSearch } = options;
  const web =
    searxngUrl !== undefined
      ? [createSearxngSource(createSearxng({ url: searxngUrl, basicAuth, timeoutMs }))]
      : [
          ...(keylessSearch ? [createKeyless(createDuckDuckGo({ timeoutMs }))] : []),
          createStored(documents, 'page'),
        ];
  return [
    ...web,
    ...(encyclopediaUrl === undefined ? [] : [createMediawiki({ url: encyclopediaUrl, timeoutMs })]),
    createStored(documents, 'file'),
  ];
}

function missingParts(options: ResearchOptions, model: ModelDescription): Missing[] {
  const search = {
    what: 'Search service',
    variable: 'SEARXNG_URL',
    hint: 'Until you set one, the web is searched without a key, which is refused at times.',
  };
  const encyclopedia = {
    what: 'Encyclopedia',
    variable: 'ENCYCLOPEDIA_URL',
    hint: 'Set it to the api.php of a MediaWiki.',
  };
  return [
    ...missingModel(model),
    ...(options.searxngUrl === undefined ? [search] : []),
    ...(options.encyclopediaUrl === undefined ? [encyclopedia] : []),
  ];
}
