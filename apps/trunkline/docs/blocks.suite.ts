import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '../../..');

export interface Block {
  /** File and line, for whoever looks for it. */
  place: string;
  text: string;
}

/** Every block of shell commands in the README and the guides. */
export function shellBlocks(): Block[] {
  return guides().flatMap((file) => blocksOf(file, 'sh'));
}

/** Every block that is not said to be of any language. */
export function plainBlocks(): Block[] {
  return guides().flatMap((file) => blocksOf(file, ''));
}

export function guides(): string[] {
  return [join(root, 'README.md'), ...markdownBelow(join(root, 'docs'))];
}

function markdownBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name));
}

function blocksOf(file: string, language: string): Block[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap((match) => {
    const line = text.slice(0, match.index).split('\n').length;
    return match[1] === language ? [{ place: `${relative(root, file)}:${line}`, text: match[2] ?? '' }] : [];
  });
}

/** Lines that start something for good, or install: what they name is checked, but they are not run here. */
const started =
  /^\s*(?:\w+=(?:'[^']*'|"[^"]*"|\S*)\s+\\?\n?\s*)*(?:npm |nats-server|docker |git |apt-get |NATS_URL=)/;

/** The commands of a block that can be run against services that run already. */
export function runnable({ text }: Block): string {
  return commandsOf(text)
    .filter((command) => !started.test(command) && !/^[A-Z_]+=\S*$/.test(command.trim()))
    .join('\n');
}

/** A command with its continuation lines; a quote that is open goes on too. */
function commandsOf(text: string): string[] {
  const commands: string[] = [];
  let current = '';
  for (const line of text.split('\n')) {
    current = current === '' ? line : `${current}\n${line}`;
    const isOpen = /\\$/.test(line) || (current.split("'").length - 1) % 2 === 1 || isLoop(current);
    if (isOpen) continue;
    commands.push(current);
    current = '';
  }
  return [...commands, current].filter((command) => command.trim() !== '');
}

function isLoop(text: string): boolean {
  return /^for /m.test(text) && !/^done/m.test(text);
}
