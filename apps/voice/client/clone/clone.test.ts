import { describe, expect, it } from 'vitest';
import { decodeWav } from '../../speech/audio/wav.ts';
import { slugOf } from './CloneForm.tsx';
import { encodeWav } from './useRecorder.ts';

describe('a recording', () => {
  it('is a WAV file as the service reads it', async () => {
    const blocks = [Float32Array.of(0, 0.5, -0.5), Float32Array.of(1, -1, 2)];
    const bytes = new Uint8Array(await encodeWav(blocks, 48_000).arrayBuffer());
    const { channels, sampleRate } = decodeWav(bytes);
    expect(sampleRate).toBe(48_000);
    expect([...(channels[0] ?? [])].map((sample) => Math.round(sample * 100) / 100)).toEqual([
      0, 0.5, -0.5, 1, -1, 1,
    ]);
  });
});

describe('the slug of a voice', () => {
  it.each([
    ['Night Owl', 'night-owl'],
    ['  Élodie & Zoë! ', 'elodie-zoe'],
    ['_under_score', 'under_score'],
    ['日本', ''],
    ['a'.repeat(80), 'a'.repeat(64)],
  ])('of %j is %j', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });
});
