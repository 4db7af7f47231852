import { expect, it } from 'vitest';
import { loggerInto } from '../../speech.suite.ts';
import { SpeechWarnings } from '../../warnings.ts';
import type { WorkOptions } from '../../worker/host.ts';
import { createFallbackSynthesizer } from '../fallback-synthesizer.ts';
import { createLocalVoice, splitForSpeech, type UtteranceWork } from './local-voice.ts';

const sampleRate = 1000;

/** A voice of one thread that reads 14 characters a second, and takes so much time for a second of speech. */
function createVoice(name: string, { factor = 0.1, english = true, now = (): number => 0 } = {}) {
  const asked: string[] = [];
  const droppable: string[] = [];
  const voice = createLocalVoice({
    backend: name,
    warnings: new SpeechWarnings(loggerInto([])),
    choose: () => ({ voice: name, language: 'a' }),
    speaks: ({ lang = 'en' }) => english || lang !== 'en',
    handsOver: name === 'best',
    now,
    host: {
      threads: 1,
      async ask<Value>(work: unknown, options: WorkOptions = {}) {
        const { text } = work as UtteranceWork;
        (options.droppable ? droppable : asked).push(text);
        const samples = new Float32Array(Math.round((text.length / 14) * sampleRate)).fill(0.5);
        const workMs = (samples.length / sampleRate) * 1000 * factor;
        return { samples, sampleRate, workMs } as Value;
      },
      close: async () => undefined,
    },
  });
  return { voice, asked, droppable };
}

function chain(...voices: ReturnType<typeof createVoice>[]) {
  return createFallbackSynthesizer({
    backend: 'test',
    order: () => voices.map(({ voice }) => voice),
    timeoutMs: () => undefined,
    warnings: new SpeechWarnings(loggerInto([])),
    close: async () => undefined,
  });
}

async function all(frames: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _frame of frames) count += 1;
  return count;
}

const [one, two, three] = ['It opens at nine.', 'It closes at five.', 'On Monday it is closed.'];
const text = [one, two, three].join(' ');

it('a voice that cannot keep up with two callers hands over between sentences', async () => {
  const [best, fast] = [createVoice('best', { factor: 0.8 }), createVoice('fast')];
  const voices = chain(best, fast);
  const ann = voices.speak({ text, caller: 'ann' })[Symbol.asyncIterator]();
  await ann.next();
  // The second caller comes while the first is in mid-reply.
  const bob = voices.speak({ text, caller: 'bob' })[Symbol.asyncIterator]();
  await bob.next();
  await all({ [Symbol.asyncIterator]: () => ann });
  await all({ [Symbol.asyncIterator]: () => bob });
  expect([...best.asked, ...fast.asked].toSorted()).toEqual([one, one, two, two, three, three].toSorted());
  expect(best.asked).toEqual([one, one]);
  expect(fast.asked).toContain(three);
});

it('one caller alone keeps a slow voice', async () => {
  const [best, fast] = [createVoice('best', { factor: 1.3 }), createVoice('fast')];
  await all(chain(best, fast).speak({ text, caller: 'ann' }));
  expect([best.asked, fast.asked]).toEqual([[one, two, three], []]);
});

it('what nobody waits for goes last, and takes the voice from nobody', async () => {
  const [best, fast] = [createVoice('best', { factor: 0.8 }), createVoice('fast')];
  const voices = chain(best, fast);
  const ann = voices.speak({ text, caller: 'ann' })[Symbol.asyncIterator]();
  await ann.next();
  const bob = voices.speak({ text, caller: 'bob', background: true })[Symbol.asyncIterator]();
  await bob.next();
  await all({ [Symbol.asyncIterator]: () => ann });
  await all({ [Symbol.asyncIterator]: () => bob });
  expect([best.asked, best.droppable]).toEqual([
    [one, two, three],
    [one, two, three],
  ]);
  expect(fast.asked).toEqual([]);
});

it('a voice that fell behind rests, so that callers do not hear it change back and forth', async () => {
  let at = 0;
  const best = createVoice('best', { factor: 0.8, now: () => at });
  const fast = createVoice('fast');
  const voices = chain(best, fast);
  const streams = ['ann', 'bob'].map((caller) => voices.speak({ text, caller })[Symbol.asyncIterator]());
  for (const stream of streams) await stream.next();
  for (const stream of streams) await all({ [Symbol.asyncIterator]: () => stream });
  const before = best.asked.length;
  at += 29_000;
  await all(voices.speak({ text: one, caller: 'cleo' }));
  expect(best.asked.length).toBe(before);
  at += 2000;
  await all(voices.speak({ text: one, caller: 'cleo' }));
  expect(best.asked.length).toBe(before + 1);
});

it('the fastest voice keeps its callers, however slow it gets', async () => {
  const [best, fast] = [createVoice('best'), createVoice('fast', { factor: 3 })];
  const voices = chain(fast, best);
  const streams = ['ann', 'bob'].map((caller) => voices.speak({ text, caller })[Symbol.asyncIterator]());
  for (const stream of streams) await stream.next();
  for (const stream of streams) await all({ [Symbol.asyncIterator]: () => stream });
  await all(voices.speak({ text, caller: 'cleo' }));
  expect(best.asked).toEqual([]);
});

it('no voice without the language speaks instead', async () => {
  const [best, fast] = [createVoice('best', { factor: 0.8 }), createVoice('fast', { english: false })];
  const voices = chain(best, fast);
  const streams = ['ann', 'bob'].map((caller) =>
    voices.speak({ text, caller, lang: 'en' })[Symbol.asyncIterator](),
  );
  for (const stream of streams) await stream.next();
  for (const stream of streams) await all({ [Symbol.asyncIterator]: () => stream });
  expect(fast.asked).toEqual([]);
  expect(best.asked.length).toBe(6);
});

it('a sentence in pieces begins when its end will come in time', async () => {
  const { voice, asked } = createVoice('only', { factor: 0.8 });
  const long = `Let me have a look, ${'and so it goes on and on without an end in sight '.repeat(5).trim()}.`;
  const pieces = splitForSpeech(long).flat().length;
  const ann = voice.speak({ text: long, caller: 'ann' })[Symbol.asyncIterator]();
  await ann.next();
  // Alone, the first piece is heard as soon as it is there.
  expect(asked.length).toBe(1);
  const bob = voice.speak({ text: long, caller: 'bob' })[Symbol.asyncIterator]();
  await bob.next();
  // With two callers a second of speech takes each of them 1.6 s: the short first piece waits for the second, which is
  // long enough for the third to come in time.
  expect(pieces).toBe(3);
  expect(asked.length).toBe(3);
});

/** Speaks the sound and gives what is heard of it. */
async function heardOf(samples: number[]): Promise<number[]> {
  const voice = createLocalVoice({
    backend: 'test',
    warnings: new SpeechWarnings(loggerInto([])),
    choose: () => ({ voice: 'test', language: 'a' }),
    host: {
      threads: 1,
      ask: async <Value>() => ({ samples: Float32Array.from(samples), sampleRate, workMs: 1 }) as Value,
      close: async () => undefined,
    },
  });
  const heard: number[] = [];
  for await (const frame of voice.speak({ text: 'Sure.' })) heard.push(...frame.samples);
  return heard.map((sample) => Math.round((sample / 32_767) * 100) / 100);
}

it('starts with its first consonant, not with the click and the noise of the model', async () => {
  const of = (length: number, level: number) => Array.from({ length }, () => level);
  const [click, noise, fricative, vowel] = [of(10, 0.03), of(60, 0.01), of(40, 0.02), of(100, 0.5)];
  const end = of(20, 0);
  // Ten milliseconds of the noise stay.
  const heard = [...of(10, 0.01), ...fricative, ...vowel, ...end];
  expect(await heardOf([...click, ...noise, ...fricative, ...vowel, ...end])).toEqual(heard);
  expect(await heardOf([...click, ...noise, ...of(30, 0.01), ...vowel])).toEqual([...of(10, 0.01), ...vowel]);
  // A plosive of one window is loud enough, and two soft windows are no click.
  expect(await heardOf([...noise, ...of(10, 0.06), ...vowel])).toEqual([
    ...of(10, 0.01),
    ...of(10, 0.06),
    ...vowel,
  ]);
  expect(await heardOf([...noise, ...of(20, 0.04), ...noise, ...vowel])).toEqual([
    ...of(10, 0.01),
    ...of(20, 0.04),
    ...noise,
    ...vowel,
  ]);
  expect(await heardOf(of(200, 0))).toEqual([]);
  expect(await heardOf(of(5, 0.5))).toEqual(of(5, 0.5));
});
