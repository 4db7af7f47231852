import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { restOfText } from '../fallback-synthesizer.ts';
import { withoutProsody } from '../synthesizer.ts';
import { splitForSpeech } from './local-voice.ts';
import { normalise } from './normalise.ts';

describe('pieces', () => {
  it('are sentences, and the first clause of a long first sentence', () => {
    const text =
      'I found three restaurants near you, and the first one has a large garden. Shall I book it? Yes.';
    expect(splitForSpeech(text).flat()).toEqual([
      'I found three restaurants near you,',
      'and the first one has a large garden.',
      'Shall I book it?',
      'Yes.',
    ]);
  });

  it('never exceed what the model can take, and lose no word', () => {
    const words = Array.from({ length: 400 }, (_, index) => `word${index}`);
    const pieces = splitForSpeech(`${words.join(' ')}.`).flat();
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(160);
    expect(pieces.join(' ')).toBe(`${words.join(' ')}.`);
    expect(splitForSpeech('x'.repeat(1000)).flat().join('')).toBe('x'.repeat(1000));
  });

  it('hold something to say', () => {
    expect(splitForSpeech('... !!! —')).toEqual([]);
    expect(splitForSpeech('Hm. ... Yes.').flat()).toEqual(['Hm.', 'Yes.']);
  });
});

describe('prosody tags', () => {
  it.each([
    ['[laughs] Well, (sighs) that is that.', 'Well, that is that.'],
    ['Hello <break time="1s"/> there [in a soft voice].', 'Hello there.'],
    [
      'The result (about ten) and [the docs](https://x.example) stay.',
      'The result (about ten) and [the docs](https://x.example) stay.',
    ],
    ['If a < b and [1] holds.', 'If a < b and [1] holds.'],
  ])('are taken out of: %s', (text, bare) => {
    expect(withoutProsody(text)).toBe(bare);
  });
});

describe('the rest of a text', () => {
  const text = 'The first clause is here, the second one follows it, and a third one ends the sentence.';
  it('is all of it when nothing was heard, and nothing when all was', () => {
    expect(restOfText(text, 0)).toBe(text);
    expect(restOfText(text, 60)).toBe('');
  });

  it('begins with the clause that was cut', () => {
    expect(restOfText(text, 3)).toBe('the second one follows it, and a third one ends the sentence.');
    expect(restOfText('word '.repeat(30).trim(), 5)).toMatch(/^word /);
  });
});

/** By language and kind: what is written, and what is read. */
type SpokenForms = Record<string, Record<string, Record<string, string>>>;

const table: SpokenForms = parse(readFileSync(join(import.meta.dirname, 'spoken-forms.yaml'), 'utf8'));
const cases = Object.entries(table).flatMap(([language, kinds]) =>
  Object.entries(kinds).flatMap(([kind, forms]) =>
    Object.entries(forms).map(([written, spoken]) => ({ language, kind, written, spoken })),
  ),
);

describe('text as it is said', () => {
  it.each(cases)('$language $kind: $written', ({ language, written, spoken }) => {
    expect(normalise(written, language)).toBe(spoken);
  });

  it('is given in every language of the voices, with at least 200 cases', () => {
    expect(Object.keys(table)).toEqual(expect.arrayContaining(['en', 'es', 'fr', 'it', 'pt', 'hi']));
    expect(cases.length).toBeGreaterThanOrEqual(200);
  });

  it('takes the letters of Kokoro for languages', () => {
    expect(normalise('5 km', 'f')).toBe('5 kilomètres');
    expect(normalise('06/05/2024', 'a')).toBe('June 5th, 20 24');
    expect(normalise('06/05/2024', 'b')).toBe('May 6th, 20 24');
  });

  it('is not changed by saying it again', () => {
    for (const { language, spoken } of cases.filter(({ kind }) => kind === 'money'))
      expect(normalise(spoken, language)).toBe(spoken);
  });
});
