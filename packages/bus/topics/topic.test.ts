import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BusError } from '../errors.ts';
import {
  checkPattern,
  checkTopic,
  coversPattern,
  escapeSegment,
  matchesTopic,
  unescapeSegment,
} from './topic.ts';

function refusal(check: () => void): BusError {
  try {
    check();
  } catch (error) {
    if (error instanceof BusError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('topics', () => {
  it.each(['a', 'message.inbound.chat.42', 'a.b>c.%2E', 'übergabe.日本', 'a'.repeat(512)])(
    'takes %s',
    (topic) => {
      expect(() => checkTopic(topic)).not.toThrow();
    },
  );

  it.each([
    ['', 'empty'],
    ['a..b', 'empty segment'],
    ['.a', 'empty segment'],
    ['a.', 'empty segment'],
    ['a b', '" "'],
    ['a\u00a0b', 'holds'],
    ['a\tb', '"\\t"'],
    ['a\u0007', '"\\u0007"'],
    ['a\u0085', 'holds'],
    ['a.*', '"*"'],
    ['a.#', '"#"'],
    ['a.b#c', '"#"'],
    ['a.\ud800', 'half of a character'],
    ['a'.repeat(513), 'longer than 512 bytes'],
    ['é'.repeat(257), 'longer than 512 bytes'],
    [7, 'not text'],
  ])('refuses %j and says why', (topic, words) => {
    const error = refusal(() => checkTopic(topic));
    expect(error.code).toBe('topic_refused');
    expect(error.message).toContain(words);
  });
});

describe('patterns', () => {
  it.each(['a', '*', '#', 'a.*', '*.b', 'a.*.c.#', '*.*.#'])('takes %s', (pattern) => {
    expect(() => checkPattern(pattern)).not.toThrow();
  });

  it.each([
    ['#.a', '#'],
    ['a.#.b', '#'],
    ['a.b*', 'b*'],
    ['a.**', '**'],
    ['a.#x', '#x'],
    ['a..*', 'empty segment'],
    ['a .#', '" "'],
    ['', 'empty'],
  ])('refuses %j with the offending text', (pattern, words) => {
    const error = refusal(() => checkPattern(pattern));
    expect(error.code).toBe('pattern_refused');
    expect(error.message).toContain(words);
    expect(error.message).toContain(JSON.stringify(pattern));
  });

  it.each([
    ['a.b', 'a.b', true],
    ['a.b', 'a.c', false],
    ['a.*', 'a.b', true],
    ['a.*', 'a', false],
    ['a.*', 'a.b.c', false],
    ['a.#', 'a', true],
    ['a.#', 'a.b', true],
    ['a.#', 'a.b.c', true],
    ['a.#', 'ab', false],
    ['#', 'anything.at.all', true],
    ['*.b.#', 'a.b', true],
    ['*.b.#', 'b', false],
  ])('%s and %s: %s', (pattern, topic, expected) => {
    expect(matchesTopic(pattern, topic)).toBe(expected);
  });

  it.each([
    ['a.#', 'a.b.*', true],
    ['a.#', 'a', true],
    ['a.#', 'a.#', true],
    ['a.*', 'a.b', true],
    ['a.*', 'a.*', true],
    ['a.*', 'a.#', false],
    ['a.b', 'a.*', false],
    ['a.b.#', 'a.#', false],
    ['#', '*.x.#', true],
    ['a.*', 'a', false],
  ])('%s covers %s: %s', (outer, inner, expected) => {
    expect(coversPattern(outer, inner)).toBe(expected);
  });
});

describe('text as a segment', () => {
  it('keeps plain names and hides what has a meaning', () => {
    expect(escapeSegment('repo-1_x')).toBe('repo-1_x');
    expect(escapeSegment('my.repo')).toBe('my%2Erepo');
    expect(escapeSegment('a b*c#d>e%f')).toBe('a%20b%2Ac%23d%3Ee%25f');
    expect(escapeSegment('')).toBe('%');
  });

  it('turns any text into one segment of a topic, from which the text comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
        const topic = `x.${escapeSegment(text)}.y`;
        expect(() => checkTopic(topic)).not.toThrow();
        expect(topic.split('.')).toHaveLength(3);
        expect(unescapeSegment(escapeSegment(text))).toBe(text);
      }),
    );
  });
});
