import { agentOptions } from '@trunkline/agent';
import { defineOptions, homeOptions, logOptions } from '@trunkline/config';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { voiceOptions } from '@trunkline/voice';
import { chatOptions } from './commands/chat.ts';
import { sendOptions } from './commands/send.ts';
import { portOptions } from './ports.ts';

/** When all four run together, each port has a variable of its own; what a service reads besides stands in its table. */
export const upOptions = {
  ...defineOptions('trunkline', 'All four services together', {
    ...portOptions,
    ...homeOptions,
    ...logOptions,
  }),
  isCommand: true,
};

/** Every table, for the reference page and the example file. */
export const optionTables = [
  upOptions,
  voiceOptions,
  agentOptions,
  researchOptions,
  switchboardOptions,
  { ...chatOptions, isCommand: true },
  { ...sendOptions, isCommand: true },
];
