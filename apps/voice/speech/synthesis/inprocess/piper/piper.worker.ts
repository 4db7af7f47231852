import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import type { PiperSettings } from '../../../backends/inprocess.ts';
import { SpeechError } from '../../../speech-error.ts';
import { once, serveWork } from '../../../worker/serve.ts';
import type { Utterance, UtteranceWork } from '../local-voice.ts';
import { unpackPiper } from './files.ts';

const { directory } = workerData as PiperSettings;
const piper = once(load);

serveWork(async ({ text, voice }: UtteranceWork): Promise<Utterance> => {
  const model = await piper();
  return model.generate({ text, sid: Number(voice), speed: 1, enableExternalBuffer: false });
});

async function load() {
  const { OfflineTts } = await loadRuntime();
  const folder = await unpackPiper(directory);
  return new OfflineTts({
    model: {
      vits: {
        model: join(folder, 'model.onnx'),
        tokens: join(folder, 'tokens.txt'),
        dataDir: join(folder, 'espeak-ng-data'),
        // Less variation than by default: clearer, and nearly the same every time.
        noiseScale: 0.4,
        noiseScaleW: 0.5,
      },
      numThreads: 1,
      provider: 'cpu',
    },
    maxNumSentences: 1,
  });
}

async function loadRuntime() {
  try {
    const { default: library } = await import('sherpa-onnx-node');
    return library;
  } catch (cause) {
    const message = 'the runtime of the Piper voice is not installed: run "npm ci" without --omit=optional';
    throw new SpeechError('missing', message, { cause });
  }
}
