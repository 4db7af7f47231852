import type { Diagnosis } from '@trunkline/service';

const words = { ok: 'ok', warning: 'note', failed: 'FAILED' } as const;

/** One finding as a line, with what to do below it. */
export function renderDiagnosis({ subject, state, words: text, advice }: Diagnosis): string {
  const line = `${words[state].padEnd(7)} ${subject.padEnd(18)} ${text}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(27)}${advice}`;
}
