import type { VoiceOptions } from '../../options.ts';
import { createCompatTranscriber } from '../transcription/compat-transcriber.ts';
import { createLocalTranscriber } from '../transcription/local-transcriber.ts';
import type { Transcriber } from '../transcription/transcriber.ts';
import type { CreateHost } from '../worker/create-hosts.ts';
import { createCompatRecognizer } from './compat-recognizer.ts';
import { createEars, type EarsSettings } from './ears.ts';
import { createGatedRecognizer } from './gated-recognizer.ts';
import type { Recognizer } from './recognizer.ts';

interface Hearing {
  recognizer: Recognizer;
  /** For files, as voice cloning uploads them. */
  transcriber: Transcriber;
  /** Loads the models of this machine that will be used. */
  warm(): Promise<void>;
}

/** Half a second of silence, enough to have a model loaded. */
const silence = new Float32Array(8000);

/** Who turns speech into text, live and from files: one model, or one endpoint, for both. */
export function createHearing(options: VoiceOptions, createHost: CreateHost): Hearing {
  const { sttBackend: backend, sttUrl: url, sttModel: model, sttApiKey: apiKey } = options;
  const settings: EarsSettings = { modelDirectory: options.sttModelDir };
  const host = createHost('speech recognition', new URL('./ears.worker.ts', import.meta.url), settings);
  const { scan, words } = createEars(host);
  const close = () => host.close();
  if (backend === 'compat') {
    const endpoint = { url, model, apiKey };
    const recognizer = createCompatRecognizer({ ...endpoint, scan, close });
    const warm = async () => void (await scan(silence, { final: false }));
    return { recognizer, transcriber: createCompatTranscriber(endpoint), warm };
  }
  const recognizer = createGatedRecognizer({ backend, scan, listen: words, close });
  const warm = async () => {
    await scan(silence, { final: false });
    for (const final of [false, true]) await words(silence, { final });
  };
  return { recognizer, transcriber: createLocalTranscriber(recognizer), warm };
}
