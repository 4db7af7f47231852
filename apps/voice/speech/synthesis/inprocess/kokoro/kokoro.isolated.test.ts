import { expect, it } from 'vitest';
import { loadOnnx, type OnnxRuntime, presets } from '../../../weights.ts';
import { kokoroRate, loadKokoro } from './model.ts';

/** The model's work grows with the sound it makes: said twice as fast, a word costs half as much. */
const speed = 2;

it('all 54 voices speak, each in a way of its own [V040]', async () => {
  const kokoro = await loadKokoro(inHaste(await loadOnnx()));
  const manners = new Map<number, string>();
  for (const voice of presets) {
    // "Ah", unstressed: the shortest sound that every voice makes heard, also at this speed.
    const samples = await kokoro.speak('ɑ', voice);
    const seconds = (speed * samples.length) / kokoroRate;
    expect(seconds > 0.25 && seconds < 3, `${voice} speaks for ${seconds} s`).toBe(true);
    const energy = samples.reduce((sum, sample) => sum + sample ** 2, 0);
    expect(Math.sqrt(energy / samples.length), `${voice} is heard`).toBeGreaterThan(0.01);
    expect(manners.get(energy), `${voice} sounds like another`).toBeUndefined();
    manners.set(energy, voice);
  }
  expect(manners.size).toBe(54);
}, 300_000);

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
