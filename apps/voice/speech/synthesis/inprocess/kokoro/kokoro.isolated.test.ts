import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { loadOnnx, type OnnxRuntime, presets, provenPaths } from '../../../weights.ts';
import { kokoroRate, loadKokoro } from './model.ts';

/** The model's work grows with the sound it makes: said twice as fast, a word costs half as much. */
const speed = 2;

// What a voice adds to the model is its style, whose checksum is verified: one of each language and sex says that styles are used.
it('all 54 voices have a style of their own, and speak in it [V040]', async () => {
  const styles = await Promise.all((await provenPaths('Kokoro voices')).map((path) => readFile(path)));
  const sums = new Set(styles.map((style) => createHash('sha256').update(style).digest('hex')));
  expect([styles.length, sums.size]).toEqual([54, 54]);
  const kinds = [...Map.groupBy(presets, (voice) => voice.slice(0, 2)).values()];
  const kokoro = await loadKokoro(inHaste(await loadOnnx()));
  const manners = new Map<number, string>();
  for (const [voice = ''] of kinds) {
    // "Ah", unstressed: the shortest sound that every voice makes heard, also at this speed.
    const samples = await kokoro.speak('ɑ', voice);
    const seconds = (speed * samples.length) / kokoroRate;
    expect(seconds > 0.25 && seconds < 3, `${voice} speaks for ${seconds} s`).toBe(true);
    const energy = samples.reduce((sum, sample) => sum + sample ** 2, 0);
    expect(Math.sqrt(energy / samples.length), `${voice} is heard`).toBeGreaterThan(0.01);
    expect(manners.get(energy), `${voice} sounds like another`).toBeUndefined();
    manners.set(energy, voice);
  }
  expect(manners.size).toBe(17);
});

/** The real runtime, with another speed among what the model is given. */
function inHaste(onnx: OnnxRuntime): OnnxRuntime {
  const { Tensor, InferenceSession } = onnx;
  const create = async (model: Uint8Array, options: object) => {
    const session = await InferenceSession.create(model, options);
    const run = session.run.bind(session);
    session.run = (feeds: Parameters<typeof run>[0]) =>
      run({ ...feeds, speed: new Tensor('float32', Float32Array.of(speed), [1]) });
    return session;
  };
  return { ...onnx, Tensor, InferenceSession: { create } } as OnnxRuntime;
}
