import { agentOptions } from '@trunkline/agent';
import { defineOptions, homeOptions, integer, logOptions } from '@trunkline/config';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { voiceOptions } from '@trunkline/voice';
import { chatOptions } from './chat/options.ts';
import { sendOptions } from './send/options.ts';

/** When all four run together, each port has a variable of its own; what a service reads besides stands in its table. */
export const upOptions = defineOptions('trunkline', 'All four services together', {
  voicePort: port('VOICE_PORT', 7866, 'voice service'),
  agentPort: port('AGENT_PORT', 7870, 'agent service'),
  researchPort: port('RESEARCH_PORT', 3399, 'research service'),
  switchboardPort: port('SWITCHBOARD_PORT', 3000, 'switchboard'),
  ...homeOptions,
  ...logOptions,
});

/** Every table, for the reference page and the example file. */
export const optionTables = [
  upOptions,
  voiceOptions,
  agentOptions,
  researchOptions,
  switchboardOptions,
  chatOptions,
  sendOptions,
];

function port(env: string, value: number, service: string) {
  return integer({ env, default: value, min: 0, max: 65_535, doc: `Port of the ${service}.` });
}
