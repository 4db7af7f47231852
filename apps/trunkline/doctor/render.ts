import type { Diagnosis } from '@trunkline/service';

const words = { ok: 'ok', warning: 'note', failed: 'FAILED' } as const;

const STATE = 7;
const SUBJECT = 22;

/** One finding as a line, with what to do below it. */
export function renderDiagnosis({ subject, state, words: text, advice }: Diagnosis): string {
  const line = `${words[state].padEnd(STATE)} ${subject.padEnd(SUBJECT)} ${text}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(STATE + SUBJECT + 2)}${advice}`;
}
