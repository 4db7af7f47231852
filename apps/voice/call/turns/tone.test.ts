import { describe, expect, it } from 'vitest';
import { toneOf } from './endpointing.ts';

const rate = 16_000;

/** A voice of many overtones whose pitch moves from one frequency to another, then silence. */
function voice(from: number, to: number, silenceMs = 200): Float32Array {
  const voiced = rate;
  const samples = new Float32Array(voiced + (silenceMs * rate) / 1000);
  let phase = 0;
  for (let index = 0; index < voiced; index += 1) {
    // It moves only in the last 350 ms.
    const share = Math.max(0, (index - 0.65 * voiced) / (0.35 * voiced));
    phase += (from + (to - from) * share) / rate;
    for (let overtone = 1; overtone <= 8; overtone += 1)
      samples[index]! += (0.2 / overtone) * Math.sin(2 * Math.PI * overtone * phase);
  }
  return samples;
}

describe('the tone at the end of speech', () => {
  it.each([
    [120, 190, 'rising'],
    [210, 320, 'rising'],
    [120, 85, 'falling'],
    [220, 160, 'falling'],
    [120, 122, 'level'],
    [230, 225, 'level'],
  ] as const)('from %i to %i Hz is %s', (from, to, tone) => {
    expect(toneOf(voice(from, to))).toBe(tone);
  });

  it('is level where there is no voice', () => {
    let seed = 1;
    const noise = Float32Array.from({ length: rate }, () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647 - 0.5;
    });
    expect(toneOf(noise)).toBe('level');
    expect(toneOf(new Float32Array(rate))).toBe('level');
    expect(toneOf(new Float32Array(10))).toBe('level');
  });
});
