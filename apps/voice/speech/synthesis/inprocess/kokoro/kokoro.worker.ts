import { loadOnnx } from '../../../weights.ts';
import { once, serveWork } from '../../../worker/serve.ts';
import type { Utterance, UtteranceWork } from '../local-voice.ts';
import { kokoroRate, loadKokoro } from './model.ts';
import { readAloud } from './phonemes.ts';

const kokoro = once(async () => loadKokoro(await loadOnnx()));

serveWork(async ({ text, voice, language }: UtteranceWork): Promise<Utterance> => {
  const model = await kokoro();
  const startedAt = performance.now();
  const { phonemes, notice } = await readAloud(text, language);
  const samples = await model.speak(phonemes, voice);
  return { samples, sampleRate: kokoroRate, workMs: performance.now() - startedAt, notice };
});
