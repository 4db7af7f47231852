import { describe, expect, it } from 'vitest';
import { sentenceSpans } from './sentences.ts';

const texts = (text: string) => sentenceSpans(text).map((span) => span.text);

describe('sentences', () => {
  it.each<[string, string[]]>([
    [
      'One ends. Two asks? Three (calls!) And four…',
      ['One ends.', 'Two asks?', 'Three (calls!)', 'And four…'],
    ],
    ['It opened in 1957. 240 MW came later.', ['It opened in 1957.', '240 MW came later.']],
    ['He said "yes." She left.', ['He said "yes."', 'She left.']],
    ['# Head\nA line\n\nAnother', ['# Head', 'A line', 'Another']],
    ['See example.com/a.b for 3.5 of them. Next.', ['See example.com/a.b for 3.5 of them.', 'Next.']],
    ['一つ目です。二つ目です！三つ目', ['一つ目です。', '二つ目です！', '三つ目']],
    ['पहला वाक्य। दूसरा वाक्य।', ['पहला वाक्य।', 'दूसरा वाक्य।']],
    ['هل هذا سؤال؟ نعم۔ انتهى.', ['هل هذا سؤال؟', 'نعم۔', 'انتهى.']],
  ])('of %j', (text, expected) => expect(texts(text)).toEqual(expected));

  it.each(['.', '!', '…', '。', '!?'])('are found in little time behind a million marks: %s', (mark) => {
    const run = mark.repeat(1_000_000);
    expect(texts(`Words here. ${run}a 一。 More words.`).at(-1)).toBe('More words.');
  });

  it('end at the same places whether or not the text has a mark that only other scripts use', () => {
    // The mark of the last line makes the whole text go through Intl.Segmenter.
    const pieces = ['a', 'B', '.', '!', '?', '…', '"', ')', '»', ' ', '\n', '1', 'U.S.', 'é'];
    let seed = 7;
    const next = () => {
      seed = (seed * 16807) % 2147483647;
      return pieces[seed % pieces.length] ?? '';
    };
    for (let round = 0; round < 500; round += 1) {
      const text = Array.from({ length: 40 }, next).join('');
      const [plain, marked] = [sentenceSpans(`${text}\n\nA.`), sentenceSpans(`${text}\n\nA。`)];
      expect(marked.slice(0, -1), text).toEqual(plain.slice(0, -1));
    }
  });
});
