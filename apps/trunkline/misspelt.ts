import { type Environment, knownVariables, nearest } from '@trunkline/config';

// Such as PEER_ROXY_URL.
const BUILT = /^(PEER_|.+_API_KEY$)/;
const SHORTEST = 6;
/** Names that are built from data, or so short that they are rather those of other programs. */
export const isNoSlip = (name: string) => BUILT.test(name) || name.length < SHORTEST;
/** NODE_PATH is another word, not a slip of the fingers for NOTES_PATH. */
export const mostSlips = (name: string) => (name.length < 12 ? 1 : 2);

/** Variables that look like misspelt settings, and settings that do nothing by themselves, in words. */
export function settingNotes(env: Environment, example?: string): string[] {
  const known = knownVariables(example);
  const names =
    known.size === 0 ? [] : Object.keys(env).filter((name) => !known.has(name) && !isNoSlip(name));
  const notes = names.flatMap((name) => noteOf(name, known) ?? []);
  const isSet = (name: string) => (env[name] ?? '').trim() !== '';
  if (isSet('LLM_MODEL') && !isSet('LLM_GATEWAY_URL') && !isSet('LLM_URL') && !isSet('LLM_GGUF'))
    notes.push('LLM_MODEL is set, but LLM_GATEWAY_URL is not: the offline demo model answers.');
  return notes;
}

function noteOf(name: string, known: ReadonlySet<string>): string | undefined {
  const isOurs = name.startsWith('TRUNKLINE_');
  const meant = nearest(name, known, isOurs ? undefined : mostSlips(name));
  if (meant !== undefined) return `${name} is not a setting; did you mean ${meant}?`;
  return isOurs ? `${name} is not a setting; .env.example lists them all.` : undefined;
}
