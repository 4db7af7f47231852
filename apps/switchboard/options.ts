import {
  defineOptions,
  homeOptions,
  integer,
  logOptions,
  modelOptions,
  natsOptions,
  type OptionsOf,
  text,
} from '@trunkline/config';

export const switchboardOptions = defineOptions(
  'switchboard',
  'Switchboard: messages between surfaces and agents',
  {
    port: integer({
      env: 'SWITCHBOARD_PORT',
      flag: '--port',
      default: 3000,
      min: 0,
      max: 65_535,
      doc: 'Port of the switchboard.',
    }),
    host: text({
      env: 'SWITCHBOARD_HOST',
      flag: '--host',
      default: '127.0.0.1',
      doc: 'Address to listen on.',
    }),
    ...modelOptions,
    ...natsOptions,
    ...homeOptions,
    ...logOptions,
  },
);

export type SwitchboardOptions = OptionsOf<typeof switchboardOptions>;
