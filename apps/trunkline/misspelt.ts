import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, nearest } from '@trunkline/config';
import { systemCode } from '@trunkline/std';

// Names that are built from data, such as PEER_ROXY_URL.
const BUILT = /^(PEER_|.+_API_KEY$)/;
const SHORTEST = 6;
/** NODE_PATH is another word, not a slip of the fingers for NOTES_PATH. */
const mostSlips = (name: string) => (name.length < 12 ? 1 : 2);

const EXAMPLE = join(import.meta.dirname, '../../.env.example');

/** Variables that look like misspelt settings, and settings that do nothing by themselves, in words. */
export function settingNotes(env: Environment, example = EXAMPLE): string[] {
  const known = knownVariables(example);
  const names =
    known.size === 0 ? [] : Object.keys(env).filter((name) => !known.has(name) && !BUILT.test(name));
  const notes = names.flatMap((name) => noteOf(name, known) ?? []);
  const isSet = (name: string) => (env[name] ?? '').trim() !== '';
  if (isSet('LLM_MODEL') && !isSet('LLM_GATEWAY_URL') && !isSet('LLM_URL') && !isSet('LLM_GGUF'))
    notes.push('LLM_MODEL is set, but LLM_GATEWAY_URL is not: the offline demo model answers.');
  return notes;
}

function noteOf(name: string, known: ReadonlySet<string>): string | undefined {
  const isOurs = name.startsWith('TRUNKLINE_');
  if (!isOurs && name.length < SHORTEST) return undefined;
  const meant = nearest(name, known, isOurs ? undefined : mostSlips(name));
  if (meant !== undefined) return `${name} is not a setting; did you mean ${meant}?`;
  return isOurs ? `${name} is not a setting; .env.example lists them all.` : undefined;
}

/**
 * Every setting stands in `.env.example`, which is made from the tables of all services; loading those takes longer. An
 * installation without that file knows none, and starts all the same.
 */
function knownVariables(path: string): ReadonlySet<string> {
  const example = textOf(path);
  return new Set([...example.matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}
