import type { Clock } from '@trunkline/schedule';
import { describe, expect, it } from 'vitest';
import type { SpeechPlayer } from '../speaking/speech-player.ts';
import { EchoCorrelator, EchoFilter, removeSelfSpeech } from './echo-filter.ts';

const spoken = 'The museum opens at nine, and it closes at six in the evening.';

describe('the words heard while the bot speaks', () => {
  it.each([
    ['the museum opens at nine', ''],
    ['opens at nine and it closes', ''],
    ['museum', ''],
    ['the museum opened at nine and it closes', ''],
    ['please stop now', 'please stop now'],
    ['stop', 'stop'],
    ['opens at nine and stop it please', 'stop it please'],
    ['what closes at six in Rome', 'what closes at six in Rome'],
    ['tell me what opens at nine', 'tell me what'],
    ['no wait when does it close on Sundays', 'no wait when does it close on Sundays'],
    ['What about Monday?', 'What about Monday?'],
    ['', ''],
  ])('%j is %j without the bot’s own words', (heard, own) => {
    expect(removeSelfSpeech(heard, spoken)).toBe(own);
  });

  it.each(['next', 'back', 'hello', 'but', 'no'])('knows %j as the bot’s own where it says so', (word) => {
    expect(removeSelfSpeech(word, `Well, ${word} is what I say.`)).toBe('');
    expect(removeSelfSpeech(word, spoken)).toBe(word);
  });

  it('is all the caller’s own while the bot says nothing', () => {
    expect(removeSelfSpeech('the museum opens', '')).toBe('the museum opens');
  });
});

const rate = 16_000;

/** A noise whose loudness goes up and down like that of speech, differently for each speaker. */
function voice(speaker: number, seconds: number): Int16Array {
  let seed = speaker * 7919;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  let level = 0;
  return Int16Array.from({ length: seconds * rate }, (_, index) => {
    if (index % 2000 === 0) level = random() < 0.3 ? 0 : random() * 9000;
    return level * (2 * random() - 1);
  });
}

/** Plays one sound and hears another, as windows of 32 ms. */
function match(played: Int16Array, heard: Int16Array, delayMs: number, gain: number): EchoCorrelator {
  const matcher = new EchoCorrelator();
  for (let at = 0; at < played.length; at += 3200)
    matcher.play(1000 + (at / rate) * 1000, { samples: played.subarray(at, at + 3200), sampleRate: rate });
  for (let at = 0; at + 512 <= heard.length; at += 512) {
    const window = Float32Array.from(heard.subarray(at, at + 512), (sample) => (sample / 2 ** 15) * gain);
    matcher.hear(window, 1000 + delayMs + ((at + 512) / rate) * 1000);
  }
  return matcher;
}

describe('the loudness of what is heard while the bot speaks', () => {
  it.each([
    [0, 1],
    [80, 0.3],
    [250, 0.1],
    [500, 0.5],
  ])('is known as our own voice after %i ms, at a share of %f', (delayMs, gain) => {
    const sound = voice(3, 2);
    expect(match(sound, sound, delayMs, gain).isEcho).toBe(true);
  });

  it.each([11, 12, 13, 14, 15])('is known as another voice (%i)', (speaker) => {
    expect(match(voice(3, 2), voice(speaker, 2), 100, 0.8).isEcho).toBe(false);
  });

  it('cannot be told from too little, nor when nothing was played', () => {
    const sound = voice(3, 0.25);
    expect(match(sound, sound, 0, 1)).toMatchObject({ isUnsure: true, isEcho: false });
    expect(match(new Int16Array(0), voice(4, 2), 0, 1)).toMatchObject({ isUnsure: true, isEcho: false });
  });

  it('cannot be our own voice in a hole of what is played', () => {
    const matcher = new EchoCorrelator();
    const sound = { samples: voice(3, 0.5), sampleRate: rate };
    const hear = (atMs: number) => matcher.hear(new Float32Array(512).fill(0.2), atMs);
    matcher.play(0, sound);
    hear(32);
    expect(matcher.isUnsure).toBe(true);
    hear(1300);
    expect(matcher).toMatchObject({ isUnsure: false, isEcho: false });
    matcher.play(1400, sound);
    hear(1432);
    expect(matcher.isUnsure).toBe(true);
  });

  it('is known as our own voice after a pause', () => {
    const sound = voice(3, 3);
    const matcher = new EchoCorrelator();
    matcher.play(0, { samples: sound, sampleRate: rate });
    const hear = (fromMs: number, toMs: number, laterMs: number) => {
      for (let at = (fromMs * rate) / 1000; at + 512 <= (toMs * rate) / 1000; at += 512) {
        const window = Float32Array.from(sound.subarray(at, at + 512), (sample) => sample / 2 ** 15);
        matcher.hear(window, ((at + 512) / rate) * 1000 + laterMs);
      }
    };
    hear(0, 1000, 0);
    matcher.pause(1000);
    matcher.hear(new Float32Array(512), 2000);
    matcher.resume(2400);
    hear(1000, 2000, 1400);
    expect(matcher.isEcho).toBe(true);
  });

  it.each([
    ['may be our own voice while we speak', false],
    ['is another voice where it goes on long after we paused', true],
  ])('that is fairly alike %s', (_, isPaused) => {
    const [sound, other] = [voice(3, 3), voice(13, 3)];
    const matcher = new EchoCorrelator();
    matcher.play(0, { samples: sound, sampleRate: rate });
    if (isPaused) matcher.pause(1500);
    for (let at = 0; at + 512 <= 1.5 * rate; at += 512) {
      const heard = (at / 512) % 5 === 0 ? other : sound;
      const window = Float32Array.from(heard.subarray(at, at + 512), (sample) => sample / 2 ** 15);
      matcher.hear(window, 480 + ((at + 512) / rate) * 1000);
    }
    expect(matcher.isEcho).toBe(!isPaused);
  });

  it('is known as our own voice where it was handed to the line during a pause', () => {
    const sound = voice(3, 2);
    const matcher = new EchoCorrelator();
    matcher.pause(1000);
    // Half a second after the pause the reply arrives; it is heard when the pause is over.
    for (let at = 0; at < sound.length; at += 3200) {
      const frame = { samples: sound.subarray(at, at + 3200), sampleRate: rate };
      matcher.play((matcher.pausedAt ?? 1500) + (at / rate) * 1000, frame);
    }
    for (const atMs of [1500, 2000, 2500]) matcher.hear(new Float32Array(512), atMs);
    matcher.resume(3000);
    for (let at = 0; at + 512 <= sound.length; at += 512) {
      const window = Float32Array.from(sound.subarray(at, at + 512), (sample) => sample / 2 ** 15);
      matcher.hear(window, 3100 + ((at + 512) / rate) * 1000);
    }
    expect(matcher.isEcho).toBe(true);
  });

  it('is no echo of what was never sent', () => {
    const sound = voice(3, 2);
    const matcher = new EchoCorrelator();
    matcher.play(0, { samples: sound, sampleRate: rate });
    matcher.stop(0);
    for (let at = 0; at + 512 <= sound.length; at += 512)
      matcher.hear(
        Float32Array.from(sound.subarray(at, at + 512), (sample) => sample / 2 ** 15),
        (at / rate) * 1000,
      );
    expect(matcher.isEcho).toBe(false);
  });
});

describe('a lone word that the bot has just said too', () => {
  const filterOf = (correlator: EchoCorrelator) =>
    new EchoFilter({
      player: { speaking: true, recentText: () => 'Say stop or museum at any time.' } as SpeechPlayer,
      correlator,
      clock: { now: () => 3000 } as Clock,
      guardMs: 400,
    });
  const another = match(voice(3, 2), voice(11, 2), 100, 0.8);
  const own = match(voice(3, 2), voice(3, 2), 100, 0.8);

  it('is the caller’s where it is an order and sounds like somebody else', () => {
    expect(filterOf(another).removeFrom('Stop.')).toBe('Stop.');
  });

  it('is the bot’s where it sounds like the bot, cannot be told yet, or is no order', () => {
    expect(filterOf(own).removeFrom('Stop.')).toBe('');
    expect(filterOf(new EchoCorrelator()).removeFrom('Stop.')).toBe('');
    expect(filterOf(another).removeFrom('museum')).toBe('');
  });
});
