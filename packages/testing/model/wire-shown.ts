import { expect } from 'vitest';
import type { Wire } from './wires.ts';

/** What a person got at a door of a service. */
export interface ShownTurn {
  text: string;
  /** Undefined when all went well. */
  failure?: string | undefined;
  thoughts?: string;
  /** What was told beside the answer. */
  notes?: string[];
  /** How many tools ran. */
  runs?: number;
  /** Sentences of the sources stand in place of what the model did not write. */
  isExtract?: boolean;
  /** How many files came with the answer. */
  files?: number;
}

const markup = ['<think', '</think', 'tool_call', '[TOOL_CALLS]', 'python_tag', '```json', '<|'];

/** The words of the capture, no thoughts among them and no markup. */
export function expectShown({ expect: wanted, name }: Wire, { text, failure = '' }: ShownTurn): void {
  const words = [...(wanted.says ?? []), ...(wanted.error?.says ?? [])];
  const read = `${text} ${failure}`.toLowerCase();
  for (const word of words) expect(read, name).toContain(word.toLowerCase());
  if (words.length === 0 && wanted.text !== undefined)
    expect([text, failure], name).toEqual([wanted.text, '']);
  if (wanted.reasoning !== undefined) expect(text, name).not.toContain(wanted.reasoning);
  for (const mark of markup) if (!wanted.text?.includes(mark)) expect(text, name).not.toContain(mark);
}
