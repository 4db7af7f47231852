import { describe, expect, it } from 'vitest';
import { EchoCorrelator, removeSelfSpeech } from './echo-filter.ts';

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
