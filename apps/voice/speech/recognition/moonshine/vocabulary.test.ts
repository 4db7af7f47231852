import { describe, expect, it } from 'vitest';
import { readVocabulary } from './model.ts';

describe('the vocabulary', () => {
  const words = [
    '<unk>',
    '<s>',
    '</s>',
    '<0xC3>',
    '<0xA4>',
    '\u2581go',
    'od',
    ...Array.from({ length: 31_993 }, (_, index) => `w${index}`),
  ];
  const script = `a="${Buffer.from('x'.repeat(90_000)).toString('base64')}";b="${Buffer.from(words.join('\n')).toString('base64')}";`;

  it('is found in the script, and puts pieces and bytes together', () => {
    expect(readVocabulary(script).textOf([1, 5, 6, 5, 3, 4, 99_999, 2])).toBe('good goä');
  });

  it('is missed with words', () => {
    expect(() => readVocabulary('let a = 1')).toThrow('not where it was');
  });
});
