import { agentOptions } from '@trunkline/agent';
import { defineOptions, homeOptions, logOptions } from '@trunkline/config';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { voiceOptions } from '@trunkline/voice';
import { chatOptions } from './commands/chat.ts';
import { portOptions } from './ports.ts';
import { sendOptions } from './send/options.ts';

/** When all four run together, each port has a variable of its own; what a service reads besides stands in its table. */
export const upOptions = defineOptions('trunkline', 'All four services together', {
  ...portOptions,
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

/** Parts flags from words, for commands whose every flag takes a value. */
export function separateFlags(argv: readonly string[]): { flags: string[]; words: string[] } {
  const [flags, words]: [string[], string[]] = [[], []];
  for (let at = 0; at < argv.length; at += 1) {
    const token = argv[at] ?? '';
    if (!token.startsWith('--')) words.push(token);
    else if (token.includes('=')) flags.push(token);
    else flags.push(token, ...argv.slice(at + 1, ++at + 1));
  }
  return { flags, words };
}
