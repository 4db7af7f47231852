import {
  defineOptions,
  homeOptions,
  integer,
  logOptions,
  modelOptions,
  type OptionsOf,
  text,
} from '@trunkline/config';

export const researchOptions = defineOptions(
  'research',
  'Research: answers and reports with checked sources',
  {
    port: integer({
      env: 'PORT',
      flag: '--port',
      default: 3399,
      min: 0,
      max: 65_535,
      doc: 'Port of the service.',
    }),
    host: text({ env: 'RESEARCH_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
    ...modelOptions,
    ...homeOptions,
    ...logOptions,
  },
);

export type ResearchOptions = OptionsOf<typeof researchOptions>;
