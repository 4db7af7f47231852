/** One finding of `trunkline doctor`: what was looked at, how it is, and what to do about it. */
export interface Diagnosis {
  subject: string;
  state: 'ok' | 'warning' | 'failed';
  words: string;
  advice?: string;
}
