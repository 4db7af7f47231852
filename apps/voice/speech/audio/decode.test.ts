import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeSound } from './decode.ts';
import { lengthOf } from './samples.ts';
import { decodeWav, encodeWav } from './wav.ts';

const fixture = (name: string) => new Uint8Array(readFileSync(join(import.meta.dirname, 'fixtures', name)));

describe('decoding', () => {
  it.each([
    ['tone.flac', 8000],
    ['tone-vorbis.ogg', 8000],
    ['tone-opus.ogg', 48_000],
    ['tone.mp3', 8000],
  ])('measures the twelve seconds of %s [V092]', async (name, sampleRate) => {
    const sound = await decodeSound(fixture(name), 31);
    expect(sound.sampleRate).toBe(sampleRate);
    expect(lengthOf(sound)).toBeGreaterThan(11.9);
    expect(lengthOf(sound)).toBeLessThan(12.3);
  });

  it('hears the tone, not only its length', async () => {
    const { channels, sampleRate } = await decodeSound(fixture('tone-vorbis.ogg'), 31);
    const second = channels[0]?.subarray(sampleRate, 2 * sampleRate) ?? new Float32Array();
    const crossings = second.filter((sample, index) => sample >= 0 && (second[index - 1] ?? 0) < 0).length;
    expect(crossings).toBeGreaterThan(430);
    expect(crossings).toBeLessThan(450);
  });

  it('stops soon after the limit', async () => {
    expect(lengthOf(await decodeSound(fixture('tone.mp3'), 2))).toBeLessThan(8);
  });

  it.each([
    ['nothing known', new TextEncoder().encode('hello, this is no sound at all')],
    ['an MP3 tag without sound', new TextEncoder().encode('ID3 but nothing follows this tag here')],
    ['a WAV head without data', encodeWav(new Uint8Array(), 8000).subarray(0, 20)],
    ['a broken FLAC', fixture('tone.flac').subarray(0, 30)],
    ['a WAV head that says one sample a second', encodeWav(new Uint8Array(24), 1)],
    ['a WAV head that says millions of samples a second', encodeWav(new Uint8Array(24), 1_600_033)],
  ])('refuses %s', async (_case, bytes) => {
    await expect(decodeSound(bytes, 31)).rejects.toMatchObject({ code: 'sound_unreadable' });
  });
});

describe('WAV', () => {
  /** One second of two channels in some format of samples, all at half the loudness. */
  const wav = (kind: number, bits: number, put: (view: DataView, at: number) => void) => {
    const size = (bits / 8) * 2 * 100;
    const bytes = new Uint8Array(44 + size);
    bytes.set(encodeWav(new Uint8Array(), 100).subarray(0, 44));
    const view = new DataView(bytes.buffer);
    view.setUint16(20, kind, true);
    view.setUint16(22, 2, true);
    view.setUint16(34, bits, true);
    view.setUint32(40, size, true);
    for (let at = 44; at < bytes.length; at += bits / 8) put(view, at);
    return bytes;
  };

  it.each([
    ['8 bits', wav(1, 8, (view, at) => view.setUint8(at, 192))],
    ['16 bits', wav(1, 16, (view, at) => view.setInt16(at, 2 ** 14, true))],
    ['24 bits', wav(1, 24, (view, at) => view.setUint8(at + 2, 64))],
    ['32 bits', wav(1, 32, (view, at) => view.setInt32(at, 2 ** 30, true))],
    ['floats', wav(3, 32, (view, at) => view.setFloat32(at, 0.5, true))],
    ['doubles', wav(3, 64, (view, at) => view.setFloat64(at, 0.5, true))],
  ])('is read with samples of %s', (_kind, bytes) => {
    const sound = decodeWav(bytes);
    expect([sound.channels.length, lengthOf(sound)]).toEqual([2, 1]);
    expect(sound.channels[1]?.every((sample) => sample === 0.5)).toBe(true);
  });

  it('comes back as it was written', () => {
    const bytes = encodeWav(new Uint8Array(new Int16Array([0, 16_384, -16_384]).buffer), 44_100);
    expect([...(decodeWav(bytes).channels[0] ?? [])]).toEqual([0, 0.5, -0.5]);
  });

  it('is cut to what is there when its length was not known', () => {
    const bytes = encodeWav(new Uint8Array(200), 100);
    new DataView(bytes.buffer).setUint32(40, 0xffffffff, true);
    expect(lengthOf(decodeWav(bytes))).toBe(1);
  });

  it('is read no further than asked for', async () => {
    const bytes = encodeWav(new Uint8Array(2 * 8000 * 60), 8000);
    expect(lengthOf(await decodeSound(bytes, 31))).toBe(31);
  });

  it('is not searched for ever', () => {
    const sound = encodeWav(new Uint8Array(200), 100);
    const empty = new Uint8Array(8 * 5000);
    const bytes = new Uint8Array([...sound.subarray(0, 12), ...empty, ...sound.subarray(12)]);
    expect(() => decodeWav(bytes)).toThrow('no format');
  });

  it('refuses more channels than anybody records', () => {
    const bytes = wav(1, 8, () => undefined);
    new DataView(bytes.buffer).setUint16(22, 65_535, true);
    expect(() => decodeWav(bytes)).toThrow('unknown kind');
  });

  it('refuses an unknown kind of samples', () => {
    expect(() => decodeWav(wav(7, 8, () => undefined))).toThrow('unknown kind');
  });
});
