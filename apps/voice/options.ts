import {
  defineOptions,
  homeOptions,
  integer,
  logOptions,
  modelOptions,
  type OptionsOf,
  text,
} from '@trunkline/config';

export const voiceOptions = defineOptions('voice', 'Voice: a spoken conversation in the browser', {
  port: integer({
    env: 'PORT',
    flag: '--port',
    default: 7866,
    min: 0,
    max: 65_535,
    doc: 'Port of the service.',
  }),
  host: text({ env: 'VOICE_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
  ...modelOptions,
  ...homeOptions,
  ...logOptions,
});

export type VoiceOptions = OptionsOf<typeof voiceOptions>;
