import type { SpeechBackend } from './definition.ts';
import { speechBackends } from './list.ts';

type Listed = (typeof speechBackends)[number]['options'];
type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The settings of all backends. */
export const backendOptions: Merged<Listed> = Object.assign(
  {},
  ...speechBackends.map(({ options }) => options),
);

/** The values of TTS_BACKEND. */
export const synthesisBackends = namesOf('synthesis');
/** The values of STT_BACKEND. */
export const recognitionBackends = namesOf('recognition');

/** The list for callers that pass the options of all backends to each. */
export function allBackends(): readonly SpeechBackend[] {
  return speechBackends as readonly unknown[] as readonly SpeechBackend[];
}

export function findBackend(name: string): SpeechBackend | undefined {
  return allBackends().find((backend) => backend.name === name);
}

function namesOf(ability: 'synthesis' | 'recognition'): string[] {
  return allBackends()
    .filter((backend) => backend[ability] !== undefined)
    .map(({ name }) => name);
}
