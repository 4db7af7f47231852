import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { SyntheticSpeaker } from '../../cases/harness/caller.suite.ts';
import { speechOf } from '../../cases/harness/code.suite.ts';
import { framesOf } from '../../cases/harness/voices.suite.ts';
import { PacedSpeaker } from '../../media/paced-speaker.ts';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import { loggerInto } from '../../speech/speech.suite.ts';
import { SpeechError } from '../../speech/speech-error.ts';
import { createFallbackSynthesizer } from '../../speech/synthesis/fallback-synthesizer.ts';
import { SpeechWarnings } from '../../speech/warnings.ts';
import type { Speaker } from '../line.ts';
import { SpeechCache } from './speech-cache.ts';
import { SpeechPlayer } from './speech-player.ts';
import { ClauseSplitter } from './speech-text.ts';
import type { Utterance, Voice } from './utterance.ts';

function open(voice?: Voice) {
  const speaker = new SyntheticSpeaker();
  const opened = openOn(speaker, () => speaker.play(), voice);
  return { ...opened, speaker };
}

/** On a line of any kind; `play` lets it send what is due at that time. */
function openOn(speaker: Speaker, play: (now: number) => void, voice?: Voice) {
  const clock = new FakeClock(0);
  const told: string[] = [];
  const made: string[] = [];
  const spoken: Voice =
    voice ??
    async function* ({ text }) {
      made.push(text);
      yield* framesOf(speechOf(text));
    };
  const player = new SpeechPlayer({
    speaker,
    voice: spoken,
    clock,
    timeoutMs: 5000,
    onQueued: () => undefined,
    onStarted: () => told.push('started'),
    onStopped: () => told.push('stopped'),
    onIdle: () => undefined,
    onCaption: (words) => told.push(words),
    onAudio: () => undefined,
    onSilenced: () => undefined,
    onPaused: () => told.push('paused'),
    onResumed: () => told.push('resumed'),
    onError: (error) => told.push(`failed: ${(error as Error).message}`),
  });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      play(clock.now());
      await clock.advanceBy(10);
    }
  };
  return { clock, told, made, player, pass };
}

/** On a line that sends in real time, as calls do. */
function openPaced(voice: Voice) {
  let now = 0;
  const none = () => undefined;
  const speaker = new PacedSpeaker({
    send: none,
    now: () => now,
    leadMs: () => 50,
    onLate: none,
    onOverflow: none,
  });
  speaker.open();
  const play = (time: number) => {
    now = time;
    speaker.advance();
  };
  return openOn(speaker, play, voice);
}

/** Sends 30 ms less than it was given, as one that changes the sample rate sends a little less. */
class LossySpeaker extends SyntheticSpeaker {
  override enqueue({ samples, sampleRate }: AudioFrame): void {
    super.enqueue({ samples: samples.subarray(0, samples.length - 0.03 * sampleRate), sampleRate });
  }
}

/** Records what happens to an utterance. */
function utterance(text: string, fate: string[]): Utterance {
  return {
    text,
    onStarted: () => fate.push('started'),
    onPlayed: () => fate.push('heard'),
    onInterrupted: (share) => fate.push(`cut at ${share.toFixed(1)}`),
    onFailed: () => fate.push('failed'),
  };
}

describe('the player', () => {
  it('shows each word when it is heard, and tells when it starts and stops', async () => {
    const { told, player, pass, clock } = open();
    const fate: string[] = [];
    player.say(utterance('one two three', fate));
    await pass(50);
    expect([told, fate]).toEqual([['started', 'one'], ['started']]);
    await pass(2000);
    expect(told).toEqual(['started', 'one', 'two', 'three', 'stopped']);
    expect([fate, player.idle, clock.pendingTimers]).toEqual([['started', 'heard'], true, 0]);
  });

  it.each([11_025, 16_000, 22_050, 24_000, 44_100])('comes to an end with a voice at %i Hz', async (rate) => {
    const { told, player, pass } = openPaced(async function* () {
      yield { samples: new Int16Array(rate).fill(1000), sampleRate: rate };
    });
    const fate: string[] = [];
    player.say(utterance('one two', fate));
    await pass(2000);
    expect([told, fate, player.idle]).toEqual([
      ['started', 'one', 'two', 'stopped'],
      ['started', 'heard'],
      true,
    ]);
  });

  const reply =
    'Time in Tokyo: Wednesday, the fourth of March, and it is late there. Shall I wake somebody up, or not?';
  const rates = [11_025, 22_050, 24_000, 44_100];
  it.each(
    [true, false].flatMap((startsEarly) =>
      [2, 40, 400].flatMap((samples) => rates.map((rate) => [startsEarly, samples, rate] as const)),
    ),
  )(
    'captions the words of all clauses in order (early %s), %i samples a word at %i Hz',
    async (startsEarly, count, rate) => {
      const splitter = new ClauseSplitter({ startsEarly });
      const clauses = [...splitter.push(reply), ...splitter.flush()];
      const { told, player, pass } = openPaced(async function* ({ text }) {
        for (const _ of text.split(' ')) yield { samples: new Int16Array(count), sampleRate: rate };
      });
      for (const clause of clauses) player.say(clause);
      await pass(2000);
      expect(told.filter((words) => !/^(started|stopped)$/.test(words)).join(' ')).toBe(reply);
    },
  );

  it.each([200, 600, 700, 1000])(
    'captions the first words of a reply, and no others, when it is cut after %i ms',
    async (ms) => {
      const splitter = new ClauseSplitter({ startsEarly: true });
      const clauses = [...splitter.push(reply), ...splitter.flush()];
      const { told, player, pass } = openPaced(async function* ({ text }) {
        for (const _ of text.split(' ')) yield { samples: new Int16Array(2205), sampleRate: 22_050 };
      });
      const fates = clauses.map((): string[] => []);
      for (const [index, { text }] of clauses.entries()) player.say(utterance(text, fates[index] ?? []));
      await pass(ms);
      player.interrupt();
      await pass(500);
      const words = told.filter((each) => !/^(started|stopped)$/.test(each)).join(' ');
      expect(reply.startsWith(words), words).toBe(true);
      expect(words).not.toBe('');
      // Only the clause that was being said is cut in its middle.
      const shares = fates.flatMap((fate) => fate.filter((each) => /^cut at 0\.[1-9]/.test(each)));
      expect(shares.length).toBeLessThanOrEqual(1);
    },
  );

  it('has played whole what came before something that has started, on a line that loses a moment', async () => {
    const before = [];
    for (let ms = 10; ms <= 600; ms += 10) {
      const speaker = new LossySpeaker();
      const voice: Voice = async function* () {
        yield { samples: new Int16Array(16 * 200).fill(1000), sampleRate: 16_000 };
      };
      const { player, pass } = openOn(speaker, () => speaker.play(), voice);
      const [first, second]: [string[], string[]] = [[], []];
      player.say(utterance('one two', first));
      player.say(utterance('three four', second));
      await pass(ms);
      player.interrupt();
      if (second.includes('started')) before.push(first);
    }
    expect(before.length).toBeGreaterThan(0);
    expect(before).toEqual(before.map(() => ['started', 'heard']));
  });

  it('makes the next while one is played, and not the whole speech at once', async () => {
    const { made, player, pass } = open();
    for (let number = 1; number <= 9; number += 1)
      player.say({ text: `sentence ${number} is of some length` });
    await pass(20);
    expect(made.length).toBeGreaterThanOrEqual(2);
    expect(made.length).toBeLessThanOrEqual(4);
    await pass(20_000);
    expect(made).toHaveLength(9);
  });

  it('stops within one packet when it is cut, and knows how much was heard', async () => {
    const { player, pass, speaker, told } = open();
    const first: string[] = [];
    const second: string[] = [];
    player.say(utterance('one two three four', first));
    player.say(utterance('five six', second));
    await pass(500);
    player.interrupt();
    expect([speaker.queuedMs, player.idle, told.at(-1)]).toEqual([0, true, 'stopped']);
    expect([first, second]).toEqual([['started', 'cut at 0.5'], ['cut at 0.0']]);
    await pass(2000);
    expect(told.filter((word) => word === 'five')).toEqual([]);
  });

  it('goes on where it was paused', async () => {
    const { player, pass, told } = open();
    player.say({ text: 'one two three' });
    await pass(200);
    player.pause();
    await pass(5000);
    expect(told).toEqual(['started', 'one', 'paused']);
    player.resume();
    await pass(2000);
    expect(told).toEqual(['started', 'one', 'paused', 'resumed', 'two', 'three', 'stopped']);
  });

  it('says what is urgent after the utterance that is being said', async () => {
    const { player, pass, told } = open();
    for (const text of ['one', 'two', 'three']) player.say({ text: `${text} ${'x'.repeat(20)}` });
    await pass(20);
    player.sayNext({ text: 'now' });
    await pass(9000);
    const order = told.filter((word) => /^(one|two|three|now)$/.test(word));
    expect(order.indexOf('now')).toBeLessThan(order.indexOf('three'));
  });

  it('gives up a voice that makes no sound, and says the next thing', async () => {
    const { player, pass, told } = open(async function* ({ text }, signal) {
      if (text === 'mute') await new Promise((_, reject) => signal.addEventListener('abort', reject));
      yield* framesOf(speechOf(text));
    });
    const fate: string[] = [];
    player.say(utterance('mute', fate));
    player.say({ text: 'hello' });
    await pass(7000);
    expect(fate).toEqual(['failed']);
    expect(told).toEqual(['failed: the voice gave no sound within 5 s', 'started', 'hello', 'stopped']);
  });

  it('tells of a voice that fails, and is not silent for ever', async () => {
    const { player, pass, told } = open(async function* ({ text }) {
      if (text === 'broken') throw new Error('no such voice');
      yield* framesOf(speechOf(text));
    });
    player.say({ text: 'broken' });
    player.say({ text: 'hello' });
    await pass(2000);
    expect(told).toEqual(['failed: no such voice', 'started', 'hello', 'stopped']);
  });

  it('does not hang on a line that takes no sound', async () => {
    const { player, pass, told, speaker } = open();
    const fate: string[] = [];
    player.say(utterance('one two three', fate));
    await pass(300);
    speaker.stuck = true;
    await pass(6000);
    expect(told.slice(-2)).toEqual(['failed: the line takes no sound', 'stopped']);
    expect([player.idle, fate.length]).toEqual([true, 2]);
  });
});

describe('phrases', () => {
  it('are made once for each voice', async () => {
    const made: string[] = [];
    const book = new SpeechCache({
      backend: 'test',
      async *speak({ text, voice }) {
        made.push(`${text} ${voice}`);
        yield { samples: new Int16Array(10), sampleRate: 16_000 };
      },
      close: async () => undefined,
    });
    let frames = 0;
    for (const voice of ['a', 'b', 'a', 'a'])
      for await (const frame of book.speak({ text: 'Okay.', voice })) frames += frame.samples.length / 10;
    expect(frames).toBe(4);
    expect(made).toEqual(['Okay. a', 'Okay. b']);
  });

  it('are the usual openings of replies too, which are prepared for the next call', async () => {
    let now = 0;
    const made: string[] = [];
    const cache = new SpeechCache(
      {
        backend: 'test',
        async *speak({ text }) {
          made.push(text);
          yield { samples: new Int16Array(10), sampleRate: 16_000 };
        },
      },
      () => now,
    );
    const openings = cache.openingsIn(() => ({ voice: 'a' }));
    const say = async (text: string) => {
      let frames = 0;
      for await (const _ of cache.say({ text, opening: true }, { voice: 'a' })) frames += 1;
      return frames;
    };
    const ready: boolean[] = [];
    for (const text of ['Sure, I can.', 'Once only.', 'Sure, I can.', 'Sure, I can.']) {
      ready.push(openings.isReady(text));
      expect(await say(text)).toBe(1);
      openings.note(text);
    }
    expect(ready).toEqual([false, false, false, true]);
    // What was synthesized, but not said, is no opening.
    for (let count = 0; count < 2; count += 1) await say('Perhaps so.');
    expect(made.splice(3)).toEqual(['Perhaps so.', 'Perhaps so.']);
    expect(openings.isReady('Perhaps so.')).toBe(false);
    expect(made).toEqual(['Sure, I can.', 'Once only.', 'Sure, I can.']);
    now = 60 * 60_000;
    expect(openings.isReady('Sure, I can.')).toBe(false);
    await cache.prepare(['Okay.'], { voice: 'b' }, () => true);
    expect(made.splice(0)).toContain('Okay.');
    await cache.prepare(['Okay.'], { voice: 'a' }, () => true);
    expect(made.splice(0)).toEqual(['Okay.', 'Sure, I can.']);
    expect(await say('Sure, I can.')).toBe(1);
    expect(made).toEqual([]);
  });

  it.each(['down', 'cut'] as const)('are not those of a voice that stands in (%s)', async (failure) => {
    let state: 'fine' | 'down' | 'cut' = failure;
    const frame = (loudness: number) => ({
      samples: new Int16Array(16_000).fill(loudness),
      sampleRate: 16_000,
    });
    const usual = {
      backend: 'usual',
      async *speak() {
        if (state === 'down') throw new SpeechError('busy', 'it has too much to do');
        yield frame(1);
        if (state === 'cut') throw new SpeechError('busy', 'it has too much to do');
      },
    };
    const other = {
      backend: 'other',
      async *speak() {
        yield frame(2);
      },
    };
    const cache = new SpeechCache(
      createFallbackSynthesizer({
        backend: 'usual',
        order: () => [usual, other],
        timeoutMs: () => undefined,
        warnings: new SpeechWarnings(loggerInto([])),
        close: async () => undefined,
      }),
    );
    const say = async () => {
      const text = 'These are the first words of an answer, and they are spoken in one voice.';
      const heard: (number | undefined)[] = [];
      for await (const { samples } of cache.speak({ text })) heard.push(samples[0]);
      return heard;
    };
    expect(await say()).toContain(2);
    state = 'fine';
    expect(await say()).toEqual([1]);
    state = failure;
    expect(await say()).toEqual([1]);
  });

  it('are made anew after a while, so that a voice that was recorded again is heard', async () => {
    let [now, rate] = [0, 24_000];
    const book = new SpeechCache(
      {
        backend: 'test',
        async *speak() {
          yield { samples: new Int16Array(10), sampleRate: rate };
        },
        close: async () => undefined,
      },
      () => now,
    );
    const heard: number[] = [];
    for (const minute of [0, 9, 11]) {
      now = minute * 60_000;
      for await (const { sampleRate } of book.speak({ text: 'Okay.' })) heard.push(sampleRate);
      rate = 44_100;
    }
    expect(heard).toEqual([24_000, 24_000, 44_100]);
  });
});
