import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
import { ExtractionPool } from '@trunkline/documents';
import { createGuardedFetch } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { createLiveGateway, usualSilenceMs } from '@trunkline/llm';
import { Responses } from '@trunkline/openai-api';
import { Policy } from '@trunkline/policy';
import {
  accountsOf,
  auditOf,
  type ComponentValues,
  component,
  peerOrigins,
  ServiceAddress,
  type ServiceContext,
} from '@trunkline/service';
import { type Database, openDatabase, Quota, serviceHome } from '@trunkline/storage';
import { SOURCE_KINDS } from './api-types.ts';
import { ConversationStore } from './chat/conversations.ts';
import { ClaimModel } from './citations/claim-model/claim-model.ts';
import { createResearchExecutor, type DeepResearchDeps, researchSkill } from './interfaces/deep-research.ts';
import type { ResearchOptions } from './options.ts';
import manifest from './package.json' with { type: 'json' };
import { HostQueue, Reader } from './reading/reader.ts';
import { ResearchEngine } from './research/engine.ts';
import type { JobOptions } from './research/job.ts';
import { ResearchModel } from './research/model.ts';
import { createSources } from './sources/catalogue.ts';
import { SearchAggregator } from './sources/search-aggregator.ts';
import type { SourceDefinition } from './sources/source.ts';
import { DocumentStore } from './store/documents.ts';
import { AnswerStore, FindingStore } from './store/findings.ts';
import { JobStore, ShareStore } from './store/jobs.ts';
import { migrations } from './store/schema.ts';

const PAGES_AT_ONCE = 32;
const LARGEST_PAGE = 10 * 1024 * 1024;

/** The running components of the service, as its routes use them. */
export type Research = ComponentValues<ReturnType<typeof researchComponents>>;

/** The components of the service. Each names what it needs; the order of start and stop follows from that alone. */
export function researchComponents(
  options: ResearchOptions,
  service: ServiceContext,
  definitions: readonly SourceDefinition[],
) {
  const { logger } = service;
  const home = serviceHome(options.trunklineHome, 'research');
  const accounts = accountsOf(options, service);
  const current = (principal: Principal) => accounts.current(principal);
  const modelTimeoutMs = options.modelTimeout === undefined ? undefined : options.modelTimeout * 1000;
  const settings = {
    parallelDimensions: options.parallelDimensions,
    sourcesPerDimension: options.sourcesPerDimension,
    modelChecks: options.modelChecks,
    checksTimeoutMs: modelTimeoutMs ?? usualSilenceMs,
  };

  const address = component('address', {}, () => new ServiceAddress(options));
  const database = component(
    'database',
    {},
    () => {
      const opened = openDatabase(join(home, 'research.db'), { migrations });
      // A checkpoint writes pages a second time and waits for the disk: a job changes some 200, many of them again and again.
      opened.exec('PRAGMA wal_autocheckpoint = 4000');
      return opened;
    },
    (database) => database.close(),
  );
  const stores = component('stores', { database }, ({ database }) => openStores(database, options));
  const gateway = component('model gateway', {}, () =>
    createLiveGateway(options, { env: service.env, logger }, { timeoutMs: modelTimeoutMs }),
  );
  const policyFile = component('policy file', {}, () => {
    const audit = { service: 'research', log: auditOf(options, service) };
    return new Policy({ home: options.trunklineHome, logger, audit });
  });
  const policy = component('policy', { policyFile }, ({ policyFile }) => policyFile.for('research'));
  const model = component(
    'model',
    { gateway, policy },
    ({ gateway, policy }) => new ResearchModel(gateway, options.modelCalls, policy, modelTimeoutMs),
  );
  const pool = component(
    'extraction threads',
    {},
    () => new ExtractionPool(),
    (pool) => pool.stop(),
  );
  const sources = component('sources', { stores, pool }, ({ stores: { documents }, pool }) =>
    createSources(definitions, options, { documents, pool, timeoutMs: options.searchTimeout * 1000 }),
  );
  const aggregator = component('search', { sources }, ({ sources }) => new SearchAggregator({ sources }));
  const reader = component('reader', { pool, aggregator, stores }, ({ pool, aggregator, stores }) => {
    const { perHost, hostPause: pauseMs, fetchAllowedHosts, fetchAllowedCidrs, pageTimeout } = options;
    const hosts = new HostQueue({ perHost, pauseMs, total: PAGES_AT_ONCE });
    const fetch = createGuardedFetch({
      allowedHosts: fetchAllowedHosts,
      allowedCidrs: fetchAllowedCidrs,
      timeoutMs: pageTimeout * 1000,
      maxBytes: LARGEST_PAGE,
    });
    return new Reader({ fetch, pool, hosts, aggregator, documents: stores.documents });
  });
  const claimModel = component(
    'claim model',
    {},
    () => new ClaimModel({ logger, isOn: options.claimModel }),
    (claimModel) => claimModel.stop(),
  );
  const engine = component(
    'research engine',
    { stores, aggregator, reader, model, claimModel },
    ({ stores, ...deps }) => new ResearchEngine({ ...stores, ...deps, settings, current }, logger),
  );
  const deepResearch = component(
    'deep research',
    { engine, stores },
    ({ engine, stores: { jobs } }): DeepResearchDeps => ({ engine, jobs, jobOptions: jobDefaults(options) }),
  );
  const responses = component(
    'responses',
    {},
    () => new Responses(join(home, 'responses.db')),
    (responses) => responses.close(),
  );
  const a2a = component(
    'tasks',
    { deepResearch, address, responses },
    ({ deepResearch, address, responses }) =>
      createA2aServer({
        directory: join(home, 'a2a'),
        executor: responses.runningTasksOf(createResearchExecutor(deepResearch)),
        signingHome: options.trunklineHome,
        quotaBytes: options.quotaMb * 2 ** 20,
        keptBesides: (owner) => responses.bytesOf(owner),
        current,
        card: () => ({
          name: 'research',
          description: manifest.description,
          version: manifest.version,
          publicUrl: address.publicUrl,
          grpcAddress: address.grpcAddress,
          skills: [researchSkill],
        }),
        ...(options.authToken !== undefined && { credentials: { bearer: options.authToken } }),
        push: {
          allowedHosts: options.pushAllowedHosts,
          allowedCidrs: options.pushAllowedCidrs,
          allowedOrigins: () => peerOrigins(service.peers),
        },
        warnWhenOpen: false,
        logger,
      }),
    (a2a) => a2a.stop(),
  );
  const facts = component('settings', {}, () => ({
    settings,
    turnTimeoutMs: modelTimeoutMs,
    logger,
  }));
  return {
    address,
    stores,
    gateway,
    policyFile,
    policy,
    model,
    claimModel,
    sources,
    aggregator,
    pool,
    engine,
    deepResearch,
    responses,
    a2a,
    facts,
  };
}

function openStores(database: Database, { quotaMb }: ResearchOptions) {
  const documents = new DocumentStore(database);
  documents.removeUnfinished();
  const limitBytes = quotaMb * 2 ** 20;
  const usedBy = (owner: string) => documents.fileBytesOf(owner);
  return {
    documents,
    fileQuota: new Quota({ limitBytes, usedBy }),
    jobs: new JobStore(database, limitBytes),
    findings: new FindingStore(database),
    answers: new AnswerStore(database),
    shares: new ShareStore(database),
    conversations: new ConversationStore(database, limitBytes),
  };
}

/** What a job gets that is started without settings of its own. */
function jobDefaults({ allowDomains: allow, denyDomains: deny }: ResearchOptions): JobOptions {
  return { reviewPlan: false, budget: {}, domains: { allow, deny }, sources: SOURCE_KINDS };
}
