import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { silenceOf, speechOf, textIn } from '../../cases/harness/code.suite.ts';
import { type AudioFrame, concatSamples } from '../../speech/audio/samples.ts';
import { createGatedRecognizer } from '../../speech/recognition/recognizer.ts';
import { SpeakingRate } from '../turns/endpointing.ts';
import { VadStream } from './audio-input.ts';
import { SpeechInput, type SpeechInputDeps } from './speech-input.ts';
import { VoiceActivity } from './voice-activity.ts';

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };

describe('voice activity', () => {
  const feed = (tracker: VoiceActivity, probability: number, windows: number, power = 0.01) =>
    Array.from({ length: windows }, () => tracker.accept(probability, power)).filter(Boolean).length;

  it('begins after 200 ms of voice, not with a click', () => {
    const tracker = new VoiceActivity();
    expect([feed(tracker, 0.9, 3), feed(tracker, 0.1, 5), feed(tracker, 0.9, 5)]).toEqual([0, 0, 0]);
    expect(feed(tracker, 0.9, 1)).toBe(1);
    expect(tracker.speaking).toBe(true);
  });

  it('bridges gaps between words, and counts speech without the silence after it', () => {
    const tracker = new VoiceActivity();
    feed(tracker, 0.9, 10);
    feed(tracker, 0.1, 4);
    expect([tracker.speaking, tracker.silenceMs]).toEqual([true, 128]);
    feed(tracker, 0.5, 4);
    expect([tracker.speaking, tracker.silenceMs]).toEqual([true, 0]);
    feed(tracker, 0.1, 20);
    expect([tracker.speaking, tracker.silenceMs]).toEqual([false, 640]);
    expect(tracker.speechMs).toBeGreaterThan(500);
    expect(tracker.speechMs).toBeLessThan(640);
  });

  it('does not take a click in a silence for the end of it, nor for a part of a later pause', () => {
    const tracker = new VoiceActivity();
    feed(tracker, 0.9, 10);
    feed(tracker, 0.1, 10);
    feed(tracker, 0.9, 3);
    expect([tracker.silenceMs, tracker.quietMs]).toEqual([13 * 32, 0]);
    feed(tracker, 0.1, 5);
    expect([tracker.silenceMs, tracker.quietMs, tracker.speaking]).toEqual([18 * 32, 5 * 32, false]);
    feed(tracker, 0.9, 6);
    expect([tracker.silenceMs, tracker.quietMs, tracker.speaking]).toEqual([0, 0, true]);
  });

  it('likely ends where the voice fades, before the detector is sure', () => {
    const tracker = new VoiceActivity();
    const silences = (windows: number, probability: number, power: number) => {
      feed(tracker, probability, windows, power);
      return [tracker.likelySilenceMs, tracker.silenceMs];
    };
    expect(silences(20, 0.95, 0.01)).toEqual([0, 0]);
    // A soft consonant within a word is one that the detector is sure of, or louder than the room.
    expect(silences(1, 0.95, 0.000_001)).toEqual([0, 0]);
    expect(silences(1, 0.7, 0.000_1)).toEqual([0, 0]);
    expect(silences(2, 0.7, 0.000_001)).toEqual([64, 0]);
    expect(silences(1, 0.2, 0.000_001)).toEqual([96, 32]);
    expect(silences(1, 0.8, 0.01)).toEqual([0, 0]);
    // Each stretch has its own loudness: after a pause somebody goes on softly.
    feed(tracker, 0.1, 10, 0);
    expect(silences(12, 0.7, 0.000_001)).toEqual([0, 0]);
  });

  it('does not take uncertain sound for speech', () => {
    const tracker = new VoiceActivity();
    expect(feed(tracker, 0.55, 100)).toBe(0);
  });
});

describe('the voice activity detector', () => {
  const frame = (samples: Int16Array): AudioFrame => ({ samples, sampleRate: 16_000 });
  function open(accept: (samples: Float32Array) => Promise<number>) {
    const heard: number[] = [];
    const state = { open: true };
    const vad = new VadStream({
      detector: { accept, reset: drop, close: async () => undefined },
      downsample: ({ samples }) => Float32Array.from(samples),
      isOpen: () => state.open,
      isBotSpeaking: () => false,
      onWindow: (_samples, probability) => heard.push(probability),
      logger,
    });
    return { vad, heard, state };
  }

  it('gives whole windows in their order, however frames are cut', async () => {
    let count = 0;
    const { vad, heard } = open(async () => {
      count += 1;
      return count;
    });
    for (let index = 0; index < 32; index += 1) vad.accept(frame(new Int16Array(160)));
    await new FakeClock(0).advanceBy(0);
    expect(heard).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  /** A detector that answers when it is told to. */
  function openSlow(answer: (heard: readonly number[]) => Promise<number>) {
    const waiting: (() => void)[] = [];
    const clock = new FakeClock(0);
    const { vad, heard } = open(() => new Promise((resolve) => waiting.push(() => resolve(answer(heard)))));
    return {
      heard,
      say: (windows: number) => {
        for (let index = 0; index < windows; index += 1) vad.accept(frame(new Int16Array(512)));
      },
      async catchUp() {
        while (waiting.length > 0) {
          waiting.shift()?.();
          await clock.advanceBy(0);
        }
      },
    };
  }

  it('keeps half a minute for a detector that still loads', async () => {
    const { say, catchUp, heard } = openSlow(async () => 1);
    say(900);
    await catchUp();
    expect(heard.length).toBe(900);
  });

  it('keeps no more than that', async () => {
    const { say, catchUp, heard } = openSlow(async () => 1);
    say(2000);
    await catchUp();
    expect(heard.length).toBe(941);
  });

  it('skips the oldest sound when the detector falls behind', async () => {
    const { say, catchUp, heard } = openSlow(async () => 1);
    say(1);
    await catchUp();
    say(500);
    await catchUp();
    expect(heard.length).toBe(102);
  });

  it('goes on after a failure', async () => {
    const { say, catchUp, heard } = openSlow(async (before) => {
      if (before.length === 0) throw new Error('x');
      return 1;
    });
    say(2);
    await catchUp();
    expect(heard).toEqual([0, 1]);
  });

  it('knows a muted microphone, and hears nothing while it is closed', async () => {
    const { vad, heard, state } = open(async () => 1);
    for (let index = 0; index < 101; index += 1) vad.accept(frame(new Int16Array(160)));
    expect(vad.muted).toBe(true);
    vad.accept(frame(new Int16Array(160).fill(50)));
    expect(vad.muted).toBe(false);
    await new FakeClock(0).advanceBy(0);
    const before = heard.length;
    state.open = false;
    for (let index = 0; index < 50; index += 1) vad.accept(frame(new Int16Array(160).fill(50)));
    await new FakeClock(0).advanceBy(0);
    expect(heard.length).toBe(before);
  });
});

describe('the input', () => {
  function open(deps: Partial<SpeechInputDeps> = {}) {
    const lengths: number[] = [];
    const texts: string[] = [];
    const likelyEnds: unknown[] = [];
    const clock = new FakeClock(0);
    const input = new SpeechInput({
      recognizer: {
        backend: 'test',
        async recognize(samples, { onContinuation }) {
          lengths.push(samples.length / 16_000);
          onContinuation?.(-1.5);
          return textIn(samples);
        },
        close: async () => undefined,
      },
      acceptsDoubtful: () => false,
      speakingRate: new SpeakingRate(),
      logger,
      onSpeechStarted: drop,
      onWindow: drop,
      onTranscript: (text) => texts.push(text),
      onLikelyEnd: (likely) => likelyEnds.push(likely),
      ...deps,
    });
    const hear = async (samples: Int16Array) => {
      for (let at = 0; at + 512 <= samples.length; at += 512) {
        const window = Float32Array.from(samples.subarray(at, at + 512), (sample) => sample / 2 ** 15);
        input.accept(window, window.some((sample) => Math.abs(sample) > 0.05) ? 0.95 : 0.05);
        await clock.advanceBy(0);
      }
    };
    return { input, hear, lengths, texts, likelyEnds };
  }

  it('keeps the first sound and understands more and more', async () => {
    const { input, hear, texts } = open();
    await hear(silenceOf(2000));
    await hear(speechOf('one two three four five six'));
    await hear(silenceOf(300));
    expect(input.finalTranscript).toBe('one two three four five six');
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts) expect('one two three four five six'.startsWith(text)).toBe(true);
  });

  it('goes on showing what is said after a pause that was shorter than recognition takes', async () => {
    const waiting: (() => void)[] = [];
    const { hear, texts } = open({
      recognizer: {
        backend: 'test',
        async recognize(samples) {
          await new Promise<void>((resolve) => waiting.push(resolve));
          return textIn(samples);
        },
        close: async () => undefined,
      },
    });
    await hear(speechOf('one two three'));
    await hear(silenceOf(300));
    await hear(speechOf('four five six'));
    for (const goOn of waiting.splice(0)) goOn();
    await hear(speechOf('seven eight nine'));
    for (const goOn of waiting.splice(0)) goOn();
    await hear(silenceOf(32));
    expect(texts.at(-1)).toMatch(/^one two three four/);
  });

  it('recognises what was said before a pause is certain, and anew when it was none', async () => {
    const { input, hear, lengths } = open();
    await hear(speechOf('hello there'));
    const before = lengths.length;
    await hear(silenceOf(64));
    expect([input.speaking, lengths.length]).toEqual([true, before + 1]);
    await hear(speechOf('my friend'));
    const again = lengths.length;
    await hear(silenceOf(300));
    expect(input.finalTranscript).toBe('hello there my friend');
    expect(lengths.length).toBe(again + 1);
  });

  it('reports what may be all, before the silence is a pause, and where the caller goes on', async () => {
    const heard: number[] = [];
    const { input, hear, likelyEnds } = open();
    const judge = async ({ samples = new Float32Array() }: { samples?: Float32Array | undefined }) => {
      heard.push(Math.round((samples.length - 1 - samples.findLastIndex((sample) => sample !== 0)) / 512));
      return 0.8;
    };
    input.setEndOfTurnModels(undefined, { judge });
    await hear(speechOf('hello there'));
    await hear(silenceOf(64));
    expect([input.speaking, likelyEnds]).toEqual([true, [{ text: 'hello there', finished: 0.8 }]]);
    await hear(speechOf('my friend'));
    expect(likelyEnds.slice(1)).toEqual([undefined]);
    await hear(silenceOf(300));
    expect(likelyEnds.slice(2)).toEqual([{ text: 'hello there my friend', finished: 0.8 }]);
    // As much silence each time, whatever was there.
    expect(heard).toEqual([5, 5, 5]);
  });

  describe('a sound after the words', () => {
    /** What the end-of-turn model is asked, and what it answers. */
    async function wordsThen(probability: number) {
      const judged: string[] = [];
      const speakingRate = new SpeakingRate();
      const { input, hear } = open({ speakingRate });
      const judge = async ({ text }: { text: string }) => {
        if (input.speaking) return 0.9;
        return judged.push(text) === 1 ? 0.9 : 0.1;
      };
      input.setEndOfTurnModels(undefined, { judge });
      await hear(speechOf('hello there'));
      await hear(silenceOf(320));
      const cough = new Float32Array(512).fill(0.02);
      for (let window = 0; window < 15; window += 1) input.accept(cough, probability);
      await hear(silenceOf(320));
      return { input, judged, speakingRate };
    }

    it('says nothing about the end of the turn where it has no words and is hardly a voice', async () => {
      const { input, judged } = await wordsThen(0.7);
      expect([judged, input.endOfTurnProbability]).toEqual([['hello there'], 0.9]);
      expect(input.wordlessMs).toBeGreaterThan(700);
    });

    it('is judged like speech where it is surely a voice, as of somebody who hesitates', async () => {
      const { input, judged } = await wordsThen(0.9);
      expect([judged.length, input.endOfTurnProbability, input.wordlessMs]).toEqual([2, 0.1, 0]);
    });
  });

  it('waits for a longer silence where each transcript costs as much as the whole utterance', async () => {
    const asked: boolean[] = [];
    const { input, hear } = open({
      recognizer: {
        backend: 'test',
        isCostly: true,
        async recognize(samples, { final }) {
          asked.push(final);
          return textIn(samples);
        },
        close: async () => undefined,
      },
    });
    await hear(speechOf('hello there'));
    await hear(silenceOf(96));
    expect([input.speaking, asked.includes(true)]).toEqual([true, false]);
    await hear(silenceOf(64));
    expect([input.speaking, asked.filter((final) => final)]).toEqual([true, [true]]);
  });

  it('looks for speech only once in each window', async () => {
    const scanned: number[] = [];
    const recognizer = createGatedRecognizer({
      backend: 'test',
      async scan(samples) {
        scanned.push(samples.length);
        return [];
      },
      transcribe: async (samples) => textIn(samples),
      close: async () => undefined,
    });
    const { input, hear } = open({ recognizer });
    await hear(silenceOf(2000));
    await hear(speechOf('one two three four five six'));
    await hear(silenceOf(300));
    expect([input.finalTranscript, scanned]).toEqual(['one two three four five six', []]);
  });

  it('recognises a long speech in parts, so that the last part is ready soon', async () => {
    const { input, hear, lengths } = open();
    const words = Array.from({ length: 30 }, (_, index) => `number${index}`);
    for (let part = 0; part < 6; part += 1) {
      await hear(speechOf(words.slice(part * 5, part * 5 + 5).join(' ')));
      await hear(speechOf(words.slice(part * 5, part * 5 + 5).join(' ')));
      await hear(silenceOf(700));
    }
    const all = Array.from({ length: 6 }, (_, part) => words.slice(part * 5, part * 5 + 5).join(' '));
    expect(input.finalTranscript).toBe(all.flatMap((text) => [text, text]).join(' '));
    expect(Math.max(...lengths)).toBeLessThan(30);
  });

  it('is bounded for somebody who never pauses', async () => {
    const { input, hear, lengths } = open();
    for (let part = 0; part < 30; part += 1) await hear(speechOf('this goes on and on and on and on'));
    await hear(silenceOf(300));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(46);
    expect(input.finalTranscript?.split(' ').length).toBeGreaterThan(230);
  });

  it('sends an endpoint little more than what is said', async () => {
    const sent: { seconds: number; final: boolean }[] = [];
    const { input, hear } = open({
      recognizer: {
        backend: 'test',
        isCostly: true,
        async recognize(samples, { final }) {
          sent.push({ seconds: samples.length / 16_000, final });
          return textIn(samples);
        },
        close: async () => undefined,
      },
    });
    const words = Array.from({ length: 60 }, (_, index) => `number${index}`);
    for (let at = 0; at < words.length; at += 4) {
      await hear(speechOf(words.slice(at, at + 4).join(' ')));
      await hear(silenceOf(140));
    }
    await hear(silenceOf(300));
    const spoken = input.totalSpeechMs / 1000;
    expect(spoken).toBeGreaterThan(25);
    expect(input.finalTranscript).toBe(words.join(' '));
    const all = sent.reduce((sum, { seconds }) => sum + seconds, 0);
    expect(all / spoken).toBeLessThan(5);
    expect(sent.length).toBeGreaterThan(4);
  });

  /** Hears utterances as they are spoken, as long as `isHeard` of each is true. */
  function openLive() {
    const asked: boolean[] = [];
    const lives: { isHeard: boolean }[] = [];
    const recognizer: SpeechInputDeps['recognizer'] = {
      backend: 'test',
      isCostly: true,
      listen() {
        const windows: Float32Array[] = [];
        const text = () => textIn(concatSamples(windows));
        // As seldom as an endpoint says something new.
        let interim = { windows: 0, text: '' };
        const live = {
          isHeard: true,
          get transcript() {
            const isDue = windows.length >= interim.windows + 16;
            if (isDue) interim = { windows: windows.length, text: text() };
            return interim.text;
          },
          push: (window: Float32Array) => void windows.push(window),
          finish: async () => text(),
        };
        lives.push(live);
        return live;
      },
      async recognize(samples, { final, live }) {
        asked.push(final);
        return live?.isHeard ? live.finish() : textIn(samples);
      },
      close: async () => undefined,
    };
    return { ...open({ recognizer }), asked, lives };
  }

  it('shows what a recogniser hears as it is spoken, and sends the whole utterance once that breaks', async () => {
    const { input, hear, texts, asked, lives } = openLive();
    await hear(silenceOf(2000));
    await hear(speechOf('one two three four five six'));
    await hear(silenceOf(160));
    expect([asked, texts.length > 2]).toEqual([[], true]);
    await hear(silenceOf(140));
    expect([input.finalTranscript, asked]).toEqual(['one two three four five six', [true]]);
    for (const live of lives) live.isHeard = false;
    await hear(speechOf('seven eight nine ten eleven twelve'));
    expect(asked).toContain(false);
    await hear(silenceOf(300));
    expect(input.finalTranscript).toBe('one two three four five six seven eight nine ten eleven twelve');
    expect(lives).toHaveLength(1);
    input.reset();
    await hear(speechOf('once more'));
    expect(lives).toHaveLength(2);
  });

  it('has a long speech heard in parts as it is spoken', async () => {
    const { input, hear, asked, lives } = openLive();
    const parts = Array.from(
      { length: 6 },
      (_, part) => `part${part} with some more words in it for a while`,
    );
    for (const part of parts) {
      await hear(speechOf(part));
      await hear(speechOf(part));
      await hear(silenceOf(700));
    }
    expect(input.finalTranscript).toBe(parts.flatMap((part) => [part, part]).join(' '));
    expect([lives.length > 1, asked.includes(false)]).toEqual([true, false]);
  });

  it('forgets what a recogniser says about an utterance that is over', async () => {
    const answers: ((text: string) => void)[] = [];
    const texts: string[] = [];
    const { input, hear } = open({
      recognizer: {
        backend: 'test',
        recognize: () => new Promise((resolve) => answers.push(resolve)),
        close: async () => undefined,
      },
      onTranscript: (text) => texts.push(text),
    });
    await hear(speechOf('hello there everybody'));
    input.reset();
    for (const answer of answers) answer('late');
    await hear(silenceOf(500));
    expect([texts, input.active, input.transcript]).toEqual([[], false, undefined]);
  });

  it('has the model of turn ends hear the last eight seconds, and does without when it fails', async () => {
    const heard: number[] = [];
    const good = open();
    const smartTurn = {
      async judge(samples: Float32Array) {
        heard.push(samples.length);
        return 0.9;
      },
    };
    good.input.setEndOfTurnModels(smartTurn, undefined);
    await good.hear(speechOf('one two three four five six seven eight nine ten eleven twelve'.repeat(4)));
    await good.hear(silenceOf(300));
    expect([good.input.endOfTurnProbability, heard[0]]).toEqual([0.9, 128_000]);
    const bad = open();
    bad.input.setEndOfTurnModels({ judge: () => Promise.reject(new Error('x')) }, undefined);
    await bad.hear(speechOf('one two three'));
    await bad.hear(silenceOf(300));
    expect([bad.input.endOfTurnProbability, bad.input.finalTranscript]).toEqual([undefined, 'one two three']);
  });

  it('shows the final transcript only with the judgement of its words and sound, and without one when that fails', async () => {
    const [said, judged]: [string, [string, number, number, unknown][]] = [
      'one two three four five six seven eight nine',
      [],
    ];
    const { promise, resolve } = Promise.withResolvers<number>();
    const good = open();
    good.input.setEndOfTurnModels(undefined, {
      judge({ text, samples = new Float32Array(), continuation }) {
        if (good.input.speaking) return promise;
        const silenceMs = (samples.length - 1 - samples.findLastIndex((sample) => sample !== 0)) / 16;
        judged.push([text, samples.length, Math.round(silenceMs / 32), continuation]);
        return promise;
      },
    });
    await good.hear(speechOf(said));
    await good.hear(silenceOf(300));
    expect([judged, good.input.finalTranscript]).toEqual([[[said, 38_560, 5, -1.5]], undefined]);
    resolve(0.2);
    await good.hear(silenceOf(100));
    expect([good.input.endOfTurnProbability, good.input.finalTranscript]).toEqual([0.2, said]);
    const bad = open();
    bad.input.setEndOfTurnModels(undefined, { judge: () => Promise.reject(new Error('x')) });
    await bad.hear(speechOf('one two three'));
    await bad.hear(silenceOf(300));
    expect([bad.input.endOfTurnProbability, bad.input.finalTranscript]).toEqual([undefined, 'one two three']);
  });
});
