import { join } from 'node:path';
import { defineOptions, type OptionsOf } from '@trunkline/config';
import { serviceHome } from '@trunkline/storage';
import { coreOptions } from './core/options.ts';
import { surfaces } from './surfaces/list.ts';

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  whole: infer Whole,
) => void
  ? Whole
  : never;

type SurfaceTables = Intersection<(typeof surfaces)[number]['options']>;

const surfaceOptions = Object.assign({}, ...surfaces.map(({ options }) => options)) as SurfaceTables;

export const switchboardOptions = defineOptions(
  'switchboard',
  'Switchboard: connects chat, code hosts, mail and schedules to agents',
  { ...coreOptions, ...surfaceOptions },
  async ({ workspaceDirectory, trunklineHome, apiKey: adminKey, host }, { env }) => {
    const { checkKeys } = await import('./access/keys.ts');
    const directory = workspaceDirectory ?? join(serviceHome(trunklineHome, 'switchboard'), 'workspace');
    await checkKeys({ file: join(directory, 'keys.yaml'), host, adminKey, env });
  },
);

export type SwitchboardOptions = OptionsOf<typeof switchboardOptions>;
