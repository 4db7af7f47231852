import { loadOnnx } from '../../../weights.ts';
import { once, serveWork } from '../../../worker/serve.ts';
import type { Utterance, UtteranceWork } from '../local-voice.ts';
import { openEspeak } from './espeak.ts';
import { kokoroRate, loadKokoro } from './model.ts';
import { espeakVoices, readAloud } from './phonemes.ts';

const kokoro = once(async () => loadKokoro(await loadOnnx()));

serveWork(async ({ text, voice, language }: UtteranceWork, signal): Promise<Utterance> => {
  const model = await kokoro();
  // Loading counts for no pace, neither of the model nor of what reads.
  if (language in espeakVoices) await openEspeak();
  const startedAt = performance.now();
  const { phonemes, notice } = await readAloud(text, language, signal);
  signal.throwIfAborted();
  const samples = await model.speak(phonemes, voice);
  return { samples, sampleRate: kokoroRate, workMs: performance.now() - startedAt, notice };
});
