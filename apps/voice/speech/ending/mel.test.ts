import { expect, it } from 'vitest';
import { melFeatures } from './mel.ts';

it('a tone is loudest in the band of its pitch, and silence is even', () => {
  const tone = Float32Array.from({ length: 16_000 }, (_, index) =>
    Math.sin((2 * Math.PI * 1000 * index) / 16_000),
  );
  const features = melFeatures(tone);
  const steps = features.length / 80;
  expect(steps).toBe(100);
  const bands = Array.from({ length: 80 }, (_, band) => features[band * steps + 50] ?? 0);
  expect(bands.indexOf(Math.max(...bands))).toBe(26);
  expect(Math.max(...bands) - Math.min(...bands)).toBeCloseTo(2, 1);
  expect(new Set(melFeatures(new Float32Array(1600)))).toEqual(new Set([-1.5]));
});
