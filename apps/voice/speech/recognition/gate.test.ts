import { describe, expect, it } from 'vitest';
import { plausibleText, speechSpans } from './recognizer.ts';

const windowLength = 512;
/** A sound with the given loudness, and probabilities of speech for its windows. */
const heard = (probabilities: number[], loudness = 0.1) => ({
  samples: new Float32Array(probabilities.length * windowLength).fill(loudness),
  probabilities,
});
const times = (count: number, probability: number) => Array.from({ length: count }, () => probability);
const seconds = (spans: { from: number; to: number }[]) =>
  spans.map(({ from, to }) => [from / 16_000, to / 16_000].map((value) => Math.round(value * 100) / 100));

describe('the gate', () => {
  it('gives speech with a margin around it', () => {
    const { samples, probabilities } = heard([...times(50, 0.1), ...times(25, 0.9), ...times(50, 0.1)]);
    expect(seconds(speechSpans(samples, probabilities))).toEqual([[1.35, 2.65]]);
  });

  it('joins what a breath parts, and parts what silence does', () => {
    const { samples, probabilities } = heard([
      ...times(20, 0.9),
      ...times(10, 0),
      ...times(20, 0.9),
      ...times(80, 0),
      ...times(20, 0.9),
    ]);
    expect(speechSpans(samples, probabilities)).toHaveLength(2);
  });

  it('lets no click, no unsure noise and no whisper of the room through', () => {
    const click = heard([...times(20, 0.1), ...times(3, 0.95), ...times(20, 0.1)]);
    expect(speechSpans(click.samples, click.probabilities)).toEqual([]);
    const noise = heard(times(100, 0.45));
    expect(speechSpans(noise.samples, noise.probabilities)).toEqual([]);
    const far = heard(times(100, 0.9), 0.0005);
    expect(speechSpans(far.samples, far.probabilities)).toEqual([]);
    expect(speechSpans(new Float32Array(), [])).toEqual([]);
  });

  it('cuts a long speech where it is quietest', () => {
    const probabilities = [...times(500, 0.99), 0.6, ...times(600, 0.99)];
    const { samples } = heard(probabilities);
    const spans = speechSpans(samples, probabilities);
    expect(spans[0]?.to).toBe(500 * windowLength);
    expect(spans.every(({ from, to }) => to - from <= 20 * 16_000)).toBe(true);
    expect(spans.at(-1)?.to).toBe(samples.length);
  });
});

describe('what a recogniser makes up', () => {
  it.each([
    ['no no no no no no no no', 3, 'no'],
    ['Thank you. Thank you. Thank you. Thank you. Thank you.', 4, 'Thank you.'],
    ['and so it was it was it was it was it was late', 6, 'and so it was late'],
    ['...', 1, ''],
    [`"'Hello there.`, 2, 'Hello there.'],
  ])('is taken out of: %s', (text, length, plausible) => {
    expect(plausibleText(text, length)).toBe(plausible);
  });

  it('is dropped when nobody could say so much in the time', () => {
    expect(plausibleText('one of the many things that a model says about nothing at all', 0.8)).toBe('');
  });

  it('is not what people say', () => {
    for (const text of ['No, no, no!', 'My number is five five five five one two.', 'Yes.'])
      expect(plausibleText(text, 4)).toBe(text);
  });
});
