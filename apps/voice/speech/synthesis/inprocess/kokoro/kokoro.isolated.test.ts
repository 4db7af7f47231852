import { expect, it } from 'vitest';
import { loadOnnx, presets } from '../../../weights.ts';
import { kokoroRate, loadKokoro } from './model.ts';

it('all 54 voices speak, each in a way of its own [V040]', async () => {
  const kokoro = await loadKokoro(await loadOnnx());
  const manners = new Map<number, string>();
  for (const voice of presets) {
    // "Hi", unstressed: the shortest word that every voice makes heard.
    const samples = await kokoro.speak('hI', voice);
    const seconds = samples.length / kokoroRate;
    expect(seconds > 0.25 && seconds < 3, `${voice} speaks for ${seconds} s`).toBe(true);
    const energy = samples.reduce((sum, sample) => sum + sample ** 2, 0);
    expect(Math.sqrt(energy / samples.length), `${voice} is heard`).toBeGreaterThan(0.01);
    expect(manners.get(energy), `${voice} sounds like another`).toBeUndefined();
    manners.set(energy, voice);
  }
  expect(manners.size).toBe(54);
}, 300_000);
