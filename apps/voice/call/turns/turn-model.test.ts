import { expect, it } from 'vitest';
import { loadTurnModel } from '../../speech/ending/turn-model.ts';
import { loadOnnx } from '../../speech/weights.ts';
import { endpointingDelay } from './endpointing.ts';

// The runtime is an optional dependency.
const isInstalled = await loadOnnx().then(
  () => true,
  () => false,
);
let model: ReturnType<typeof loadTurnModel> | undefined;

it.runIf(isInstalled).each([
  ['en', 'I have to cancel the meeting because', 'my mother is visiting on Sunday.'],
  ['es', 'Quiero pedir una cita para', 'el lunes por la tarde.'],
  ['fr', 'Je voudrais réserver une table pour', 'deux personnes'],
  ['it', 'Vorrei prenotare un tavolo per', 'domani sera'],
  ['pt', 'Eu queria marcar uma consulta para', 'amanhã'],
])('the end-of-turn model waits in mid-sentence and not at its end: %s', async (language, begun, rest) => {
  model ??= loadTurnModel();
  const judge = await model;
  const delayAfter = async (text: string) => {
    const finished = await judge({ text, language });
    return endpointingDelay({ text, tone: 'level', usualPauseMs: 0, finished });
  };
  expect(await delayAfter(begun)).toBeGreaterThanOrEqual(1700);
  expect(await delayAfter(`${begun} ${rest}`)).toBe(300);
  expect(await delayAfter(`${begun} ${rest}`.toUpperCase())).toBe(300);
});

it.runIf(isInstalled)('the end-of-turn model hears whether the voice falls or breaks off', async () => {
  model ??= loadTurnModel();
  const judge = await model;
  const delayAfter = async (falls: boolean) => {
    const text = 'Turn off the lights in the kitchen.';
    const finished = await judge({ text, language: 'en', samples: voice(falls) });
    return endpointingDelay({ text, tone: 'level', usualPauseMs: 0, finished });
  };
  expect(await delayAfter(true)).toBeLessThanOrEqual(550);
  expect(await delayAfter(false)).toBeGreaterThanOrEqual(1700);
});

/** 1.4 s of voice at 130 Hz in syllables, then silence; at its end pitch, level and rate fall, or nothing changes. */
function voice(falls: boolean): Float32Array {
  let phase = 0;
  return Float32Array.from({ length: 25_600 }, (_, index) => {
    const seconds = index / 16_000;
    if (seconds >= 1.4) return 0;
    const last = falls ? Math.max(0, (seconds - 0.8) / 0.6) : 0;
    phase += (2 * Math.PI * 130 * (1 - 0.4 * last)) / 16_000;
    const syllable = 0.55 + 0.45 * Math.sin(2 * Math.PI * (4 - 1.2 * last) * seconds);
    const harmonics = Array.from({ length: 20 }, (_each, at) => Math.sin((at + 1) * phase) / (at + 1));
    return 0.2 * syllable * (1 - last) ** 1.2 * harmonics.reduce((sum, wave) => sum + wave, 0);
  });
}
