import { describe, expect, it } from 'vitest';
import { filtersFor, StreamResampler, toMono } from './resample.ts';
import type { AudioFrame } from './samples.ts';

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

describe('stream resampler', () => {
  const loud = 20_000;
  const tone = (hertz: number, rate: number, seconds = 1) =>
    Int16Array.from({ length: rate * seconds }, (_, index) =>
      Math.round(loud * Math.sin((2 * Math.PI * hertz * index) / rate)),
    );

  /** The stream cut into pieces of these lengths in turn, and put together again at the new rate. */
  function streamed(samples: Int16Array, from: number, to: number, lengths: readonly number[]): Int16Array {
    const resampler = new StreamResampler(to);
    const pieces: AudioFrame[] = [];
    for (let at = 0, turn = 0; at < samples.length; turn += 1) {
      const length = lengths[turn % lengths.length] as number;
      pieces.push(resampler.push({ samples: samples.subarray(at, at + length), sampleRate: from }));
      at += length;
    }
    expect(new Set(pieces.map(({ sampleRate }) => sampleRate))).toEqual(new Set([to]));
    return Int16Array.from(pieces.flatMap((piece) => [...piece.samples]));
  }

  /** Decibels below the tone that went in. */
  function level(samples: Int16Array): number {
    const inner = samples.subarray(1000, -1000);
    const power = inner.reduce((sum, sample) => sum + sample * sample, 0) / inner.length;
    return 10 * Math.log10(power / (loud ** 2 / 2));
  }

  /** What is left when the tone itself is taken out, in decibels below it. */
  function residue(samples: Int16Array, hertz: number, rate: number): number {
    const inner = samples.subarray(1000, -1000);
    const angle = (index: number) => (2 * Math.PI * hertz * index) / rate;
    const part = (wave: (x: number) => number) =>
      (2 / inner.length) * inner.reduce((sum, sample, index) => sum + sample * wave(angle(index)), 0);
    const [sine, cosine] = [part(Math.sin), part(Math.cos)];
    const rest = inner.reduce(
      (sum, sample, index) =>
        sum + (sample - sine * Math.sin(angle(index)) - cosine * Math.cos(angle(index))) ** 2,
      0,
    );
    return 10 * Math.log10(rest / inner.length / (loud ** 2 / 2));
  }

  describe('a stream at another rate', () => {
    it('brings 48 kHz to 16 kHz with no click where frames meet [V009]', () => {
      const lower = streamed(tone(1000, 48_000), 48_000, 16_000, [480]);
      expect(lower.length).toBeGreaterThan(15_950);
      expect(level(lower)).toBeCloseTo(0, 1);
      expect(residue(lower, 1000, 16_000)).toBeLessThan(-80);
    });

    it('gives the same samples however the stream is cut', () => {
      const whole = streamed(tone(700, 48_000), 48_000, 16_000, [48_000]);
      const ragged = streamed(tone(700, 48_000), 48_000, 16_000, [1, 480, 7, 333, 0, 960]);
      expect(ragged).toEqual(whole);
    });

    it.each([9000, 11_000, 15_900, 23_000])('folds nothing back from %i Hz', (hertz) => {
      expect(level(streamed(tone(hertz, 48_000), 48_000, 16_000, [480]))).toBeLessThan(-80);
    });

    it.each([22_050, 24_000, 11_025])('goes up from %i Hz to 48 kHz', (rate) => {
      const higher = streamed(tone(1000, rate), rate, 48_000, [160]);
      expect(level(higher)).toBeCloseTo(0, 1);
      expect(residue(higher, 1000, 48_000)).toBeLessThan(-75);
    });

    it('leaves frames of its own rate alone and begins anew when the rate changes', () => {
      const resampler = new StreamResampler(16_000);
      const first = { samples: tone(500, 16_000, 0.01), sampleRate: 16_000 };
      expect(resampler.push(first).samples).toBe(first.samples);
      const later = resampler.push({ samples: tone(500, 48_000, 0.1), sampleRate: 48_000 });
      expect(later.sampleRate).toBe(16_000);
      expect(later.samples.length).toBeGreaterThan(1500);
      expect(Math.abs(later.samples[0] ?? loud)).toBeLessThan(loud / 40);
    });

    it('stays within 16 bits', () => {
      const square = Int16Array.from({ length: 4800 }, (_, index) => (index % 48 < 24 ? 32_767 : -32_768));
      const lower = streamed(square, 48_000, 16_000, [480]);
      expect(Math.max(...lower)).toBe(32_767);
      expect(Math.min(...lower)).toBe(-32_768);
    });

    it('takes an odd rate for the nearest usual one, which takes a fraction of the filters', () => {
      expect(streamed(tone(1000, 22_051), 22_051, 48_000, [441]).length).toBeGreaterThan(47_900);
      expect(filtersFor(22_051, 48_000).phases.length).toBeLessThan(1000);
    });
  });
});
