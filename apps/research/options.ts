import {
  decimal,
  defineOptions,
  fetchOptions,
  group,
  grpcOptions,
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
    doc: 'Seconds a search may take.',
  }),
});

const readingOptions = group('Reading', {
  allowDomains: list({
    env: 'RESEARCH_ALLOW_DOMAINS',
    default: [],
    doc: 'Reads only pages of these domains and their subdomains.',
  }),
  denyDomains: list({
    env: 'RESEARCH_DENY_DOMAINS',
    default: [],
    doc: 'Never reads pages of these domains and their subdomains.',
  }),
  pageTimeout: decimal({
    env: 'RESEARCH_PAGE_TIMEOUT_S',
    default: 20,
    min: 0.1,
    max: 300,
    doc: 'Seconds a page may take to load.',
  }),
  perHost: integer({
    env: 'RESEARCH_PER_HOST',
    default: 2,
    min: 1,
    max: 32,
    doc: 'Pages to load from one host at the same time.',
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
    doc: 'Largest upload in megabytes.',
  }),
});

const jobOptions = group('Research jobs', {
  parallelDimensions: integer({
    env: 'RESEARCH_PARALLEL_DIMENSIONS',
    default: 4,
    min: 1,
    max: 6,
    doc: 'Parts (dimensions) of one job to research at the same time.',
  }),
  modelCalls: integer({
    env: 'RESEARCH_MODEL_CALLS',
    default: 8,
    min: 1,
    max: 256,
    doc: 'Model calls at the same time, over all jobs. 1 or 2 suit a model on this machine.',
  }),
  sourcesPerDimension: integer({
    env: 'RESEARCH_SOURCES_PER_DIMENSION',
    default: 5,
    min: 1,
    max: 20,
    doc: 'Pages to read for each part of a job.',
  }),
  modelChecks: toggle({
    env: 'RESEARCH_MODEL_CHECKS',
    default: true,
    doc: 'Asks the model about citations that comparing words cannot settle. 0 leaves those marked as not checked.',
  }),
  claimModel: toggle({
    env: 'RESEARCH_CLAIM_MODEL',
    default: true,
    doc: 'Lets the built-in model judge citations that comparing words cannot settle, before a language model is asked. It reads English only and takes about 150 MB while it works.',
  }),
  modelTimeout: integer({
    env: 'RESEARCH_MODEL_TIMEOUT_S',
    defaultDoc: '600, or as long as the model may take to begin where that is longer',
    min: 1,
    max: 7200,
    doc: 'Seconds a model may send nothing before its call is given up.',
  }),
});

const accessOptions = group('Access', {
  authToken: text({
    env: 'RESEARCH_AUTH_TOKEN',
    secret: true,
    doc: 'Token that callers of research must send as bearer token. /healthz, the page itself and shared reports stay open.',
    defaultDoc: 'none: everyone who reaches the port may call',
  }),
  publicUrl: url({
    env: 'RESEARCH_PUBLIC_URL',
    doc: 'Address other services use to reach research.',
    defaultDoc: 'the address it listens on',
  }),
  chromium: text({
    env: 'RESEARCH_CHROMIUM',
    doc: 'Chromium program for PDF exports.',
    defaultDoc: 'the one on the PATH',
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
      doc: 'Port of voice or research when you start one of them alone. Wins over VOICE_PORT and RESEARCH_PORT, which count there too.',
    }),
    host: text({
      env: 'RESEARCH_HOST',
      flag: '--host',
      default: '127.0.0.1',
      doc: 'Address research listens on. 0.0.0.0 listens on all; set RESEARCH_AUTH_TOKEN first.',
    }),
    ...accessOptions,
    ...grpcOptions('RESEARCH'),
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
