import { describe, expect, it } from 'vitest';
import { whiteNoise } from '../../speech/sounds.suite.ts';
import { InputGain } from './input-gain.ts';

const windowSamples = 512;

/** Half a second of a room, then syllables of a voice at a level, with gaps. */
function speech(level: number, room = level / 30): Float32Array {
  const noise = whiteNoise(4, 1);
  return noise.map((sample, index) => {
    const second = index / 16_000;
    const speaks = second > 0.5 && (second * 5) % 1 < 0.7;
    // Uniform noise has this level.
    return sample * Math.sqrt(3) * (speaks ? level : room);
  });
}

function passed(sound: Float32Array, gain = new InputGain(), isBotSpeaking?: boolean): Float32Array {
  const output = new Float32Array(sound.length);
  for (let at = 0; at + windowSamples <= sound.length; at += windowSamples)
    output.set(gain.apply(sound.slice(at, at + windowSamples), isBotSpeaking), at);
  return output;
}

const levelOf = (sound: Float32Array, from: number, to: number) => {
  const part = sound.subarray(from * 16_000, to * 16_000);
  return Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / part.length);
};

describe('the gain of a microphone', () => {
  it.each([0.2, 0.05, 0.02])('leaves a voice at %d as it is', (level) => {
    const sound = speech(level);
    expect(levelOf(passed(sound), 1.5, 4) / levelOf(sound, 1.5, 4)).toBeCloseTo(1, 1);
  });

  it.each([0.005, 0.002, 0.0008])('brings up a voice at %d within half a second', (level) => {
    const after = levelOf(passed(speech(level)), 1, 4);
    expect(after).toBeGreaterThan(0.012);
    expect(after).toBeLessThan(0.03);
  });

  it('brings up neither a quiet room, nor a voice that is hardly louder than its room', () => {
    const room = whiteNoise(4, 0.003);
    expect(passed(room)).toEqual(room);
    const noisy = speech(0.008, 0.004);
    expect(levelOf(passed(noisy), 0, 4) / levelOf(noisy, 0, 4)).toBeLessThan(1.1);
  });

  it('neither learns from the echo of the bot nor brings it up, and has the caller as before after it', () => {
    const gain = new InputGain();
    const isUnchanged = (level: number) => {
      const echo = speech(level);
      return passed(echo, gain, true).every((sample, index) => sample === echo[index]);
    };
    expect(isUnchanged(0.1)).toBe(true);
    const caller = speech(0.001);
    passed(caller, gain);
    expect([0.001, 0.1].map(isUnchanged)).toEqual([true, true]);
    const [before, after] = [levelOf(caller, 0.5, 1), levelOf(passed(caller.subarray(8192), gain), 0, 0.5)];
    expect(after / before).toBeGreaterThan(10);
  });

  it('comes down at once when somebody gets loud, and never clips', () => {
    const gain = new InputGain();
    passed(speech(0.001), gain);
    const loud = passed(speech(0.3), gain);
    expect(Math.max(...loud)).toBeLessThanOrEqual(1);
    expect(levelOf(loud, 1, 4) / levelOf(speech(0.3), 1, 4)).toBeCloseTo(1, 1);
  });
});
