import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TopicIndex } from './topic-index.ts';

const word = fc.constantFrom('a', 'b', 'c', 'Aa', 'BB', 'lang.wörter'.slice(5));
const topics = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join('.'));
const patterns = fc
  .tuple(fc.array(fc.oneof(word, fc.constant('*')), { maxLength: 4 }), fc.boolean())
  .map(([words, rest]) => (rest || words.length === 0 ? [...words, '#'] : words).join('.'));

/** The rule as the contract says it, with nothing clever. */
function naive(pattern: string[], topic: string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return topic.length === 0;
  if (first === '#') return true;
  const [segment, ...others] = topic;
  if (segment === undefined) return false;
  return (first === '*' || first === segment) && naive(rest, others);
}

function expected(held: [string, object][], topic: string): object[] {
  return held.filter(([pattern]) => naive(pattern.split('.'), topic.split('.'))).map(([, value]) => value);
}

describe('the topic index', () => {
  it('agrees with a naive matcher while patterns come and go', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), pattern: patterns }),
      fc.record({ do: fc.constant('remove' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('match' as const), topic: topics }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const index = new TopicIndex<object>();
        const held: [string, object][] = [];
        for (const action of steps) {
          if (action.do === 'add') {
            const value = { number: held.length };
            held.push([action.pattern, value]);
            index.add(action.pattern, value);
          } else if (action.do === 'remove' && held.length > 0) {
            const [[pattern, value]] = held.splice(action.at % held.length, 1) as [[string, object]];
            expect(index.remove(pattern, value)).toBe(true);
            expect(index.remove(pattern, value)).toBe(false);
          } else if (action.do === 'match') {
            expect(new Set(index.match(action.topic))).toEqual(new Set(expected(held, action.topic)));
          }
        }
        expect(index.size).toBe(held.length);
      }),
      { numRuns: 500 },
    );
  });

  it('remembers the answers for recent topics, but not so many long ones that they fill the memory', () => {
    const index = new TopicIndex<object>();
    index.add('#', {});
    const topics = Array.from({ length: 100 }, (_, number) => `a.${number}`);
    const short = topics.map((topic) => index.match(topic));
    expect(topics.map((topic) => index.match(topic)).every((found, at) => found === short[at])).toBe(true);
    for (let number = 0; number < 10_000; number += 1) index.add('#', { number });
    const long = topics.map((topic) => index.match(topic));
    const kept = topics.filter((topic, at) => index.match(topic) === long[at]);
    expect(kept.length).toBeLessThan(60);
  });

  it('tells many literal segments beside each other apart', () => {
    const index = new TopicIndex<string>();
    for (const pattern of ['Aa.*', 'BB.*', 'AaAa.*', 'BBBB.*', 'AaBB.*', 'other.*'])
      index.add(pattern, pattern);
    expect(index.match('Aa.x')).toEqual(['Aa.*']);
    expect(index.match('BBBB.x')).toEqual(['BBBB.*']);
    expect(index.remove('BBBB.*', 'BBBB.*')).toBe(true);
    expect(index.match('BBBB.x')).toEqual([]);
    expect(index.match('AaBB.x')).toEqual(['AaBB.*']);
    expect(index.match('AaAa.x')).toEqual(['AaAa.*']);
  });

  it('keeps the same value twice under one pattern and removes it once', () => {
    const index = new TopicIndex<string>();
    for (const pattern of ['a', 'a.#']) {
      index.add(pattern, 'x');
      index.add(pattern, 'x');
    }
    expect(index.match('a')).toEqual(['x', 'x', 'x', 'x']);
    index.remove('a', 'x');
    index.remove('a.#', 'x');
    expect(index.match('a')).toEqual(['x', 'x']);
  });

  it('stays right when far more topics are asked for than it remembers', () => {
    const index = new TopicIndex<string>();
    index.add('t.*', 'star');
    index.add('t.5', 'exact');
    const all = Array.from({ length: 20_000 }, (_, number) => `t.${number}`);
    const wrong = () => all.filter((topic) => index.match(topic).length !== (topic === 't.5' ? 2 : 1));
    expect(wrong()).toEqual([]);
    index.remove('t.*', 'star');
    expect(all.filter((topic) => index.match(topic).length > 0)).toEqual(['t.5']);
  });

  it('matches a topic with more segments than any before', () => {
    const index = new TopicIndex<string>();
    const long = Array.from({ length: 200 }, () => 'a').join('.');
    index.add(`*.${long.slice(2)}`, 'long');
    expect(index.match(long)).toEqual(['long']);
    expect(index.match('a')).toEqual([]);
  });

  it('refuses a malformed pattern', () => {
    expect(() => new TopicIndex<string>().add('a.#.b', 'x')).toThrow('"#" may only be its last segment');
  });
});
