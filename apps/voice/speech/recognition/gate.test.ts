import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WorkerHost, WorkOptions } from '../worker/host.ts';
import {
  createGatedRecognizer,
  createLocalRecognition,
  plausibleText,
  type RecognitionOptions,
  type RecognitionWork,
} from './recognizer.ts';
import { speechSpans } from './speech-spans.ts';

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
    ['2020, 2020, 2020, 2020, 2020, 2020', 4, '2020,'],
    [`"'Hello there.`, 2, 'Hello there.'],
  ])('is taken out of: %s', (text, length, plausible) => {
    expect(plausibleText(text, length)).toBe(plausible);
  });

  it('is dropped when nobody could say so much in the time', () => {
    expect(plausibleText('one of the many things that a model says about nothing at all', 0.8)).toBe('');
  });

  it('is not what people say', () => {
    for (const text of ['No, no, no!', 'My number is five five five five one two.', '12 12 12 12', 'Yes.'])
      expect(plausibleText(text, 4)).toBe(text);
  });
});

describe('words of a sound that may be no voice', () => {
  const word = 'Yeah.';
  const heardAs = (
    nothing: number,
    options: Partial<RecognitionOptions>,
    text = word,
    modelDirectory?: string,
  ) => {
    const host: Partial<WorkerHost> = {
      ask: async <Value>() => ({ text, tokens: [5], nothing }) as Value,
    };
    const { transcribe } = createLocalRecognition(() => host as WorkerHost, { modelDirectory });
    return transcribe(new Float32Array(8000), { final: true, ...options });
  };

  it.each([
    ['are dropped where the model nearly wrote none', 0.15, { voiceProbability: 0.75 }, ''],
    ['are kept where the model is sure', 0.02, { voiceProbability: 0.75 }, word],
    ['are kept where it is surely a voice', 0.15, { voiceProbability: 0.9 }, word],
    ['are kept where they may be an answer', 0.15, { voiceProbability: 0.75, acceptsDoubtful: true }, word],
    ['are kept where nobody has looked for a voice', 0.15, {}, word],
  ])('%s', async (_, nothing, options, expected) => {
    expect(await heardAs(nothing, options)).toBe(expected);
  });

  it.each([
    ['它它它它它它它', ''],
    ['說說, 說 for four', ''],
    ['A café in Kraków.', 'A café in Kraków.'],
  ])(
    'are those of other scripts, which the English model writes where it understands nothing: %s',
    async (written, expected) => {
      expect(await heardAs(0, {}, written)).toBe(expected);
      expect(await heardAs(0, {}, written, '/models')).toBe(written);
    },
  );

  it('are told by the mean probability of the windows that hold a voice', async () => {
    const given: unknown[] = [];
    const { recognize } = createGatedRecognizer({
      backend: 'test',
      scan: async () => [],
      async transcribe(_samples, { voiceProbability }) {
        given.push(voiceProbability);
        return 'yes';
      },
      close: async () => undefined,
    });
    const { samples, probabilities } = heard([...times(20, 0.1), ...times(4, 0.7), ...times(4, 0.9)]);
    await recognize(samples, { final: true, probabilities });
    expect(given).toEqual([expect.closeTo(0.8)]);
  });
});

describe('the recogniser on this machine', () => {
  /** With what each transcript was said to begin with. */
  function openRecognition() {
    const drafts: unknown[] = [];
    const host: Partial<WorkerHost> = {
      async ask<Value>(work: unknown) {
        const { samples, draftTokens } = work as Extract<RecognitionWork, { kind: 'transcribe' }>;
        drafts.push(draftTokens);
        return { text: '', tokens: [samples.length], nothing: 0 } as Value;
      },
    };
    const { transcribe } = createLocalRecognition(() => host as WorkerHost, { modelDirectory: undefined });
    return { transcribe, drafts };
  }

  it('begins with what it understood before, where the same speech goes on', async () => {
    const { transcribe, drafts } = openRecognition();
    const speech = Float32Array.from({ length: 3000 }, (_, index) => Math.sin(index));
    const other = speech.map((sample) => -sample);
    const first = { caller: 'first', final: false };
    await transcribe(speech.slice(0, 1000), first);
    await transcribe(speech.slice(0, 2000), { ...first, caller: 'second' });
    await transcribe(speech.slice(0, 2000), first);
    await transcribe(speech, { ...first, final: true });
    await transcribe(other, first);
    await transcribe(speech, { final: true });
    expect(drafts).toEqual([undefined, undefined, [1000], [2000], undefined, undefined]);
  });

  it('does not begin with what was said after another muted moment, nor more than a minute ago', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { transcribe, drafts } = openRecognition();
    const first = { caller: 'first', final: true };
    const muted = new Float32Array(1000);
    await transcribe(muted, first);
    await transcribe(muted, first);
    const speech = new Float32Array(1000).fill(0.5);
    await transcribe(speech, first);
    vi.advanceTimersByTime(30_000);
    await transcribe(speech, first);
    vi.advanceTimersByTime(59_000);
    await transcribe(speech, first);
    vi.advanceTimersByTime(61_000);
    await transcribe(speech, first);
    expect(drafts).toEqual([undefined, undefined, undefined, [1000], [1000], undefined]);
    expect(vi.getTimerCount()).toBe(1);
  });

  it('makes interim transcripts with the smaller model apart, and none where final ones need all cores', async () => {
    const asked: unknown[] = [];
    const hostOf = (name: string): Partial<WorkerHost> => ({
      callers: 1,
      async ask<Value>(work: unknown, { urgent, droppable }: WorkOptions = {}) {
        const { model } = work as Extract<RecognitionWork, { kind: 'transcribe' }>;
        asked.push([name, model, urgent, droppable]);
        return { text: model, tokens: [], nothing: 0 } as Value;
      },
    });
    const open = (cores: number) =>
      createLocalRecognition((name) => hostOf(name) as WorkerHost, { modelDirectory: undefined }, cores);
    const samples = new Float32Array(8000).fill(0.1);
    expect(await open(2).transcribe(samples, { final: false })).toBe('quick');
    expect(await open(2).transcribe(samples, { final: true })).toBe('careful');
    expect(await open(1).transcribe(samples, { final: true })).toBe('careful');
    await expect(open(1).transcribe(samples, { final: false })).rejects.toMatchObject({ code: 'dropped' });
    expect(asked).toEqual([
      ['interim recognition', 'quick', false, true],
      ['speech recognition', 'careful', true, false],
      ['speech recognition', 'careful', true, false],
    ]);
  });
});
