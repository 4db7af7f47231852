import {
  decimal,
  defineOptions,
  fetchOptions,
  group,
  homeOptions,
  hostOptions,
  integer,
  list,
  logOptions,
  modelOptions,
  type OptionsOf,
  oidcOptions,
  pushOptions,
  sandboxOptions,
  text,
  toggle,
  url,
} from '@trunkline/config';
import { sourceOptions } from './sources/catalogue.ts';

const searchOptions = group('Search', {
  ...sourceOptions,
  searchTimeout: decimal({
    env: 'RESEARCH_SEARCH_TIMEOUT_S',
    default: 15,
    min: 0.1,
    max: 300,
    doc: 'Seconds a search service may take to answer.',
  }),
});

const readingOptions = group('Reading', {
  allowDomains: list({
    env: 'RESEARCH_ALLOW_DOMAINS',
    default: [],
    doc: 'Read pages of these domains only; subdomains count.',
  }),
  denyDomains: list({
    env: 'RESEARCH_DENY_DOMAINS',
    default: [],
    doc: 'Never read pages of these domains; subdomains count.',
  }),
  pageTimeout: decimal({
    env: 'RESEARCH_PAGE_TIMEOUT_S',
    default: 20,
    min: 0.1,
    max: 300,
    doc: 'Seconds a page may take to arrive.',
  }),
  perHost: integer({
    env: 'RESEARCH_PER_HOST',
    default: 2,
    min: 1,
    max: 32,
    doc: 'Pages fetched at once from one host.',
  }),
  hostPause: integer({
    env: 'RESEARCH_HOST_PAUSE_MS',
    default: 250,
    min: 0,
    max: 60_000,
    doc: 'Milliseconds between two requests to one host.',
  }),
  uploadLimit: integer({
    env: 'RESEARCH_UPLOAD_LIMIT_MB',
    default: 20,
    min: 1,
    max: 200,
    doc: 'Megabytes an upload of files may have.',
  }),
});

const jobOptions = group('Research jobs', {
  parallelDimensions: integer({
    env: 'RESEARCH_PARALLEL_DIMENSIONS',
    default: 4,
    min: 1,
    max: 6,
    doc: 'Dimensions of one job that are researched at once.',
  }),
  modelCalls: integer({
    env: 'RESEARCH_MODEL_CALLS',
    default: 8,
    min: 1,
    max: 256,
    doc: 'Calls of the model at once, over all jobs; 1 or 2 suit a model on this machine.',
  }),
  sourcesPerDimension: integer({
    env: 'RESEARCH_SOURCES_PER_DIMENSION',
    default: 5,
    min: 1,
    max: 20,
    doc: 'Pages read for one dimension.',
  }),
  modelChecks: toggle({
    env: 'RESEARCH_MODEL_CHECKS',
    default: true,
    doc: 'Put citations that comparing words cannot settle to the model; without it they are shown as not checked.',
  }),
  modelTimeout: integer({
    env: 'RESEARCH_MODEL_TIMEOUT_S',
    default: 600,
    min: 1,
    max: 7200,
    doc: 'Seconds one call of the model may take; raise it for a slow local model.',
  }),
});

const accessOptions = group('Access', {
  authToken: text({
    env: 'RESEARCH_AUTH_TOKEN',
    secret: true,
    doc: 'Bearer token that everything asks for but /healthz, the page itself and shared reports.',
    defaultDoc: 'none; everyone who reaches the port is let in',
  }),
  publicUrl: url({
    env: 'RESEARCH_PUBLIC_URL',
    doc: 'Address under which other agents reach the service, for its A2A card.',
    defaultDoc: 'the address it listens on',
  }),
  chromium: text({
    env: 'RESEARCH_CHROMIUM',
    doc: 'The Chromium that makes PDF exports.',
    defaultDoc: 'looked for on the PATH',
  }),
});

export const researchOptions = defineOptions(
  'research',
  'Research: answers and reports with checked sources',
  {
    port: integer({
      env: ['PORT', 'RESEARCH_PORT'],
      flag: '--port',
      default: 3399,
      min: 0,
      max: 65_535,
      doc: 'Port of the service.',
    }),
    host: text({ env: 'RESEARCH_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
    ...accessOptions,
    ...modelOptions,
    ...searchOptions,
    ...readingOptions,
    ...jobOptions,
    ...fetchOptions,
    ...pushOptions,
    ...hostOptions,
    sandbox: sandboxOptions.sandbox,
    ...homeOptions,
    ...oidcOptions,
    ...logOptions,
  },
);

export type ResearchOptions = OptionsOf<typeof researchOptions>;
