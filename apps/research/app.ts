import { join } from 'node:path';
import { createApp, createGuardedFetch, createMetrics, serve, servePages } from '@trunkline/http';
import { createModelGateway, type ModelDescription } from '@trunkline/llm';
import { type Missing, missingModel, type Service, type Surroundings } from '@trunkline/service';
import { type Database, openDatabase, serviceHome } from '@trunkline/storage';
import { createDuckDuckGo } from '@trunkline/tools';
import { ConversationStore } from './chat/conversations.ts';
import type { ResearchOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { ExtractionPool } from './reading/extraction-pool.ts';
import { HostQueue } from './reading/host-queue.ts';
import { Reader } from './reading/reader.ts';
import { ResearchEngine } from './research/engine.ts';
import { ResearchModel } from './research/model.ts';
import { mountChat } from './routes/chat.ts';
import { mountFiles } from './routes/files.ts';
import { mountResearch } from './routes/research.ts';
import { SearchDesk } from './sources/desk.ts';
import { createKeyless } from './sources/keyless.ts';
import { createMediawiki } from './sources/mediawiki.ts';
import { createSearxng } from './sources/searxng.ts';
import type { Source, SourceKind } from './sources/source.ts';
import { createStored } from './sources/stored.ts';
import { DocumentStore } from './store/documents.ts';
import { FindingStore } from './store/findings.ts';
import { JobStore } from './store/jobs.ts';
import { migrations } from './store/schema.ts';

const KINDS: readonly SourceKind[] = ['web', 'encyclopedia', 'files'];
const MEGABYTE = 1024 * 1024;
const PAGES_AT_ONCE = 32;

/** Starts the service; the only place that names its concrete parts. */
export async function start(options: ResearchOptions, surroundings: Surroundings): Promise<Service> {
  const { logger, services = () => [], portVariable = 'PORT' } = surroundings;
  const database = openDatabase(join(serviceHome(options.trunklineHome, 'research'), 'research.db'), {
    migrations,
  });
  const parts = createParts(options, database, logger);
  const { desk, gateway, engine, pool } = parts;
  const missing = () => missingParts(options, gateway.describe());
  const app = createApp({
    service: 'research',
    version: manifest.version,
    description: manifest.description,
    logger,
    metrics: createMetrics({ prefix: 'research' }),
    renderError: (error) => ({ body: { error: error.message } }),
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
  mountChat(app, parts);
  mountResearch(app, { ...parts, domains: domainsOf(options), kinds: KINDS });
  mountFiles(app, parts);
  servePages(app, { directory: join(import.meta.dirname, 'dist') });
  const server = await serve(app, { host: options.host, port: options.port, portVariable, logger }).catch(
    (error: unknown) => {
      database.close();
      throw error;
    },
  );
  engine.resume();
  const stopLooking = lookAfterSources(desk, logger);
  return {
    url: server.url,
    missing,
    async stop() {
      await Promise.all([server.stop(), engine.stop(), stopLooking()]);
      await pool.stop();
      database.close();
    },
  };
}

const PROBE_EVERY_MS = 60_000;

/** Looks at the search services now and every minute, so that `/healthz` tells of one that died unused. */
function lookAfterSources(desk: SearchDesk, logger: Surroundings['logger']): () => Promise<void> {
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

function createParts(options: ResearchOptions, database: Database, logger: Surroundings['logger']) {
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
  };
  const engine = new ResearchEngine({ jobs, findings, documents, desk, reader, model, settings }, logger);
  const conversations = new ConversationStore(database);
  return { gateway, documents, jobs, findings, desk, pool, engine, conversations, turnTimeoutMs: timeoutMs };
}

/** What is configured, and always what is stored here; pages read before stand in where no web search is configured. */
function createSources(options: ResearchOptions, documents: DocumentStore): Source[] {
  const timeoutMs = options.searchTimeout * 1000;
  const { searxngUrl, searxngBasicAuth: basicAuth, encyclopediaUrl, keylessSearch } = options;
  const web =
    searxngUrl !== undefined
      ? [createSearxng({ url: searxngUrl, basicAuth, timeoutMs })]
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

function domainsOf({ allowDomains, denyDomains }: ResearchOptions) {
  return { allow: allowDomains, deny: denyDomains };
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
