import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { decodeSound } from '../../speech/audio/decode.ts';
import { toMono } from '../../speech/audio/resample.ts';
import { loadTurnModel, soundWindow } from '../../speech/ending/turn-model.ts';
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

it.runIf(isInstalled)(
  'the end-of-turn model judges the same voice alike, wherever its window begins',
  async () => {
    model ??= loadTurnModel();
    const judge = await model;
    const recording = readFileSync(new URL('../../speech/recognition/fixtures/austen.ogg', import.meta.url));
    const voice = await toMono(await decodeSound(recording, 30), 16_000);
    const pause = 2560;
    const heard = async (end: number, later: number, gain: number) => {
      const samples = new Float32Array(soundWindow);
      const spoken = voice.subarray(Math.max(0, end - soundWindow + pause + later), end);
      samples.set(
        spoken.map((sample) => sample * gain),
        soundWindow - pause - later - spoken.length,
      );
      const finished = await judge({
        text: 'It is a truth universally acknowledged',
        language: 'en',
        samples,
      });
      return Math.log(finished / (1 - finished));
    };
    const ranges: number[] = [];
    for (let end = 41_600; end < voice.length; end += 6400) {
      const logits: number[] = [];
      for (const later of [0, 80, 160, 240, 320])
        for (const gain of [1, 0.2]) logits.push(await heard(end, later, gain));
      ranges.push(Math.max(...logits) - Math.min(...logits));
    }
    expect(ranges).toHaveLength(19);
    // With one window, and trained without such shifts, 3.4 and 0.9.
    expect(Math.max(...ranges)).toBeLessThan(2);
    expect(ranges.reduce((sum, range) => sum + range, 0) / ranges.length).toBeLessThan(0.6);
  },
  60_000,
);

it.runIf(isInstalled)('the end-of-turn model counts whether the recogniser expects more words', async () => {
  model ??= loadTurnModel();
  const judge = await model;
  const turn = { text: 'Turn off the lights in the kitchen.', language: 'en', samples: voice(true) };
  const doubt = async (continuation: number) => 1 - (await judge({ ...turn, continuation }));
  expect(await doubt(-0.2)).toBeGreaterThan(100 * (await doubt(-4)));
});

/** 2.2 s of voice at 130 Hz in syllables, then silence; at its end pitch, level and rate fall, or nothing changes. */
function voice(falls: boolean): Float32Array {
  let phase = 0;
  return Float32Array.from({ length: 38_560 }, (_, index) => {
    const seconds = index / 16_000;
    if (seconds >= 2.2) return 0;
    const last = falls ? Math.max(0, (seconds - 1.6) / 0.6) : 0;
    phase += (2 * Math.PI * 130 * (1 - 0.4 * last)) / 16_000;
    const syllable = 0.55 + 0.45 * Math.sin(2 * Math.PI * (4 - 1.2 * last) * seconds);
    const harmonics = Array.from({ length: 20 }, (_each, at) => Math.sin((at + 1) * phase) / (at + 1));
    return 0.2 * syllable * (1 - last) ** 1.2 * harmonics.reduce((sum, wave) => sum + wave, 0);
  });
}
