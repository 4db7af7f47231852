import { loadOnnx, provenPaths } from '../../weights.ts';
import { once, serveWork } from '../../worker/serve.ts';
import { loadWhisper, type Transcript } from './model.ts';

export interface WhisperWork {
  samples: Float32Array;
  language: string | undefined;
}

const whisper = once(async () => {
  const [encoder = ''] = await provenPaths('Whisper base encoder');
  const [decoder = ''] = await provenPaths('Whisper base decoder');
  const [vocabulary = '', generation = ''] = await provenPaths('Whisper base vocabulary');
  return loadWhisper(await loadOnnx(), { encoder, decoder, vocabulary, generation });
});

serveWork(async ({ samples, language }: WhisperWork, signal): Promise<Transcript> => {
  return (await whisper()).transcribe(samples, language, signal);
});
