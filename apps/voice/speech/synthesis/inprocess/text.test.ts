import { describe, expect, it } from 'vitest';
import { restOfText } from '../fallback-synthesizer.ts';
import { withoutProsody } from '../synthesizer.ts';
import { splitForSpeech } from './local-voice.ts';
import { normalise } from './normalise.ts';

describe('text as it is said', () => {
  it.each([
    ['It costs $3.50, €1 or £2.20.', 'It costs 3 dollars and 50 cents, 1 euro or 2 pounds and 20 pence.'],
    ['$0.99, $5 million, $1,234.00', '99 cents, 5 million dollars, 1234 dollars'],
    ['1,250,000 people', '1250000 people'],
    ['on 2024-05-06', 'on May 6th, 20 24'],
    ['Jan. 3rd and March 15', 'January 3rd and March 15th'],
    ['at 3:00 pm, 14:00, 3:05 or 5:30 a.m.', "at 3 PM, 14 o'clock, 3 oh 5 or 5 30 AM"],
    ['In 1999, 1905, 1800, 2005 and 2024.', 'In 19 99, 19 oh 5, 18 hundred, 2005 and 20 24.'],
    ['Dr. Lee vs. Mr. Fox, e.g. now', 'Doctor Lee versus Mister Fox, for example, now'],
    ['5 km/h at 20°C, 15%', '5 kilometres per hour at 20 degrees Celsius, 15 percent'],
    ['Call 555-1234 or +4915112345678.', 'Call 5 5 5 1 2 3 4 or plus 4 9 1 5 1 1 2 3 4 5 6 7 8.'],
    ['3-5 days, #5 and No. 7', '3 to 5 days, number 5 and number 7'],
    ['See https://www.example.com/a?b=c now', 'See example dot com now'],
    ['me.too@mail.example.com', 'me dot too at mail dot example dot com'],
    ['**Bold** and `code` & more 😀', 'Bold and code and more'],
    ['I am here at 3.14', 'I am here at 3.14'],
  ])('%s', (text, said) => {
    expect(normalise(text)).toBe(said);
  });
});

describe('pieces', () => {
  it('are sentences, and the first clause of a long first sentence', () => {
    const text =
      'I found three restaurants near you, and the first one has a large garden. Shall I book it? Yes.';
    expect(splitForSpeech(text)).toEqual([
      'I found three restaurants near you,',
      'and the first one has a large garden.',
      'Shall I book it?',
      'Yes.',
    ]);
  });

  it('never exceed what the model can take, and lose no word', () => {
    const words = Array.from({ length: 400 }, (_, index) => `word${index}`);
    const pieces = splitForSpeech(`${words.join(' ')}.`);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(160);
    expect(pieces.join(' ')).toBe(`${words.join(' ')}.`);
    expect(splitForSpeech('x'.repeat(1000)).join('')).toBe('x'.repeat(1000));
  });

  it('hold something to say', () => {
    expect(splitForSpeech('... !!! —')).toEqual([]);
    expect(splitForSpeech('Hm. ... Yes.')).toEqual(['Hm.', 'Yes.']);
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
