import {
  defineOptions,
  homeOptions,
  integer,
  logOptions,
  modelOptions,
  type OptionsOf,
  text,
} from '@trunkline/config';

export const agentOptions = defineOptions('agent', 'Agent: tasks behind the A2A protocol', {
  port: integer({
    env: 'AGENT_PORT',
    flag: '--port',
    default: 7870,
    min: 0,
    max: 65_535,
    doc: 'Port of the service.',
  }),
  host: text({ env: 'CORE_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
  ...modelOptions,
  ...homeOptions,
  ...logOptions,
});

export type AgentOptions = OptionsOf<typeof agentOptions>;
