import { version } from '../version.ts';
import { commands } from './list.ts';

/** The text of `trunkline --help`. */
export function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    `Trunkline ${version}: a self-hosted exchange for people and agents.`,
    '',
    'Usage: trunkline COMMAND [flags]',
    '',
    ...lines,
    '',
    '"trunkline COMMAND --help" lists the flags and variables of a command.',
    'Variables are also read from a file .env in the present folder; .env.example shows them all.',
  ].join('\n');
}
