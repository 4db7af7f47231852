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
    '.',
    ',',
    '\u2581?',
    ...Array.from({ length: 31_990 }, (_, index) => `w${index}`),
  ];
  const script = `a="${Buffer.from('x'.repeat(90_000)).toString('base64')}";b="${Buffer.from(words.join('\n')).toString('base64')}";`;

  it('is found in the script, and puts pieces and bytes together', () => {
    expect(readVocabulary(script).textOf([1, 5, 6, 5, 3, 4, 99_999, 2])).toBe('good goä');
  });

  it('tells how likely the sentence goes on after its last word', () => {
    const { continuation } = readVocabulary(script);
    const after = (...tokens: [number, Record<number, number>][]) => {
      const listening = continuation();
      for (const [token, shares] of tokens) {
        const logits = new Float32Array(32_000).fill(-30);
        for (const [each, share] of Object.entries(shares)) logits[Number(each)] = Math.log(share);
        listening.onToken(token, logits);
      }
      return listening.logProbability === undefined ? undefined : Math.exp(listening.logProbability);
    };
    const [end, word, stop, comma, asks] = [2, 5, 7, 8, 9];
    const sure = { [end]: 1 };
    expect(after([end, sure])).toBeUndefined();
    expect(after([word, { [word]: 1 }], [end, { [end]: 0.6, [word]: 0.4 }])).toBeCloseTo(0.4);
    const marked = { [stop]: 0.5, [asks]: 0.2, [end]: 0.1, [comma]: 0.15, [word]: 0.05 };
    expect(after([word, { [word]: 1 }], [stop, marked], [end, sure])).toBeCloseTo(0.2);
    expect(after([word, { [word]: 1 }], [comma, { [comma]: 1 }], [end, sure])).toBeCloseTo(1);
    expect(after([word, sure], [stop, sure], [word, sure], [stop, marked], [end, sure])).toBeCloseTo(0.2);
  });

  it('is missed with words', () => {
    expect(() => readVocabulary('let a = 1')).toThrow('not where it was');
  });
});
