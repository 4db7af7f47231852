import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeSegment } from '../topics/topic.ts';
import { filterOf, subjectOf } from './resources.ts';

describe('NATS subjects', () => {
  it.each([
    ['a.b', 'bus.a.b.~'],
    ['a.x>y', 'bus.a.x%3Ey.~'],
    ['a.50%', 'bus.a.50%25.~'],
    ['a.~', 'bus.a.~.~'],
    ['a.ü', 'bus.a.%C3%BC.~'],
  ])('topic %s is %s', (topic, subject) => {
    expect(subjectOf('bus', topic)).toBe(subject);
  });

  it.each([
    ['a.#', 'bus.a.>'],
    ['#', 'bus.>'],
    ['a.*', 'bus.a.*.~'],
    ['*.b.#', 'bus.*.b.>'],
    ['a.b', 'bus.a.b.~'],
  ])('pattern %s is %s', (pattern, filter) => {
    expect(filterOf('bus', pattern)).toBe(filter);
  });

  it('are plain ASCII and distinct for distinct topics', () => {
    const segment = fc.string({ unit: 'grapheme', maxLength: 6 }).map(escapeSegment);
    const topic = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('.'));
    fc.assert(
      fc.property(topic, topic, (one, other) => {
        expect(subjectOf('bus', one)).toMatch(/^[\x21-\x7e]+$/);
        expect(subjectOf('bus', one)).not.toMatch(/[*>]/);
        expect(subjectOf('bus', one) === subjectOf('bus', other)).toBe(one === other);
      }),
    );
  });
});
