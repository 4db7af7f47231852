import { expect, it } from 'vitest';
import { PreemptiveGeneration } from './preemptive-generation.ts';
import type { Reply } from './reply.ts';

function open() {
  const notes: string[] = [];
  const abandoned: string[] = [];
  const generation = new PreemptiveGeneration({
    note: (decision, reason) => void notes.push(`${decision}: ${reason}`),
  });
  const start = (text: string) =>
    generation.start(
      text,
      'seems whole',
      () => ({ text, abandon: () => void abandoned.push(text) }) as Reply,
    );
  return { generation, start, notes, abandoned };
}

it('keeps a reply where the transcript has the same words in the end', () => {
  const { generation, start, notes, abandoned } = open();
  start('what is the time?');
  start('What is the time?');
  expect(generation.take('What is, the time?')?.text).toBe('what is the time?');
  expect([notes, abandoned]).toEqual([['draft: "what is the time?" seems whole'], []]);
});

it.each(['What is the time', 'What was the time?', 'What is the time? Please?'])(
  'drops a reply to a question where the transcript is in the end: %s',
  (text) => {
    const { generation, start, notes, abandoned } = open();
    start('What is the time?');
    expect([generation.find(text), generation.take(text)]).toEqual([undefined, undefined]);
    expect([notes.at(-1), abandoned]).toEqual([
      'draft-discarded: the transcript has changed',
      ['What is the time?'],
    ]);
  },
);
