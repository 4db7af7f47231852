import { describe, expect, it } from 'vitest';
import { toMono } from './resample.ts';

const tone = (hertz: number, rate: number) =>
  Float32Array.from({ length: rate }, (_, index) => Math.sin((2 * Math.PI * hertz * index) / rate));
const loudness = (samples: Float32Array) => {
  const inner = samples.subarray(1000, -1000);
  return Math.sqrt(inner.reduce((sum, sample) => sum + sample * sample, 0) / inner.length);
};

describe('another rate', () => {
  it('keeps what fits and its length', async () => {
    const lower = await toMono({ channels: [tone(1000, 48_000)], sampleRate: 48_000 }, 16_000);
    expect(lower.length).toBe(16_000);
    expect(loudness(lower)).toBeCloseTo(Math.SQRT1_2, 2);
    const expected = tone(1000, 16_000);
    expect(Math.abs((lower[8000 + 3] ?? 0) - (expected[8000 + 3] ?? 0))).toBeLessThan(0.01);
  });

  it('drops what does not fit, so that nothing folds back', async () => {
    expect(
      loudness(await toMono({ channels: [tone(11_000, 48_000)], sampleRate: 48_000 }, 16_000)),
    ).toBeLessThan(0.001);
  });

  it('goes up too, and mixes channels', async () => {
    const channels = [tone(440, 8000), tone(440, 8000).map((sample) => -sample)];
    expect(loudness(await toMono({ channels, sampleRate: 8000 }, 16_000))).toBe(0);
    expect(loudness(await toMono({ channels: [tone(440, 8000)], sampleRate: 8000 }, 16_000))).toBeCloseTo(
      Math.SQRT1_2,
      2,
    );
  });

  it('takes odd rates without filling the memory with filters for them', async () => {
    const before = process.memoryUsage().arrayBuffers;
    for (const rate of [8009, 11_003, 22_051, 31_999, 44_101, 48_017]) {
      const sound = await toMono({ channels: [tone(1000, rate)], sampleRate: rate }, 16_000);
      expect(Math.abs(sound.length - 16_000)).toBeLessThan(32);
      expect(loudness(sound)).toBeCloseTo(Math.SQRT1_2, 2);
    }
    const grownMb = (process.memoryUsage().arrayBuffers - before) / 2 ** 20;
    expect(grownMb).toBeLessThan(20);
  });

  it('leaves a sound of that rate as it is', async () => {
    const samples = tone(440, 16_000);
    expect(await toMono({ channels: [samples], sampleRate: 16_000 }, 16_000)).toBe(samples);
  });
});
