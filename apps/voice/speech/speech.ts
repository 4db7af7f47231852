import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import type { VoiceOptions } from '../options.ts';
import type { ActivityDetector } from './activity/detector.ts';
import { createDetectors } from './activity/local-detector.ts';
import { Notices } from './notices.ts';
import { createCompatRecognizer } from './recognition/compat-recognizer.ts';
import { createEars } from './recognition/ears.ts';
import { createGatedRecognizer } from './recognition/gated-recognizer.ts';
import type { Recognizer } from './recognition/recognizer.ts';
import type { Sidecar } from './sidecar/sidecar.ts';
import { createCompatSynthesizer } from './synthesis/compat-synthesizer.ts';
import { createFallbackSynthesizer } from './synthesis/fallback-synthesizer.ts';
import { createKokoroVoice } from './synthesis/inprocess/kokoro-voice.ts';
import { createPiperVoice, isPiper, type PiperSettings } from './synthesis/inprocess/piper-voice.ts';
import { createSidecarSynthesizer } from './synthesis/sidecar-synthesizer.ts';
import type { SpeechRequest, Synthesizer } from './synthesis/synthesizer.ts';
import { createCompatTranscriber } from './transcription/compat-transcriber.ts';
import { createLocalTranscriber } from './transcription/local-transcriber.ts';
import type { Transcriber } from './transcription/transcriber.ts';
import { WorkerHost } from './worker/host.ts';

interface Surroundings {
  sidecar: Sidecar;
  /** For files that models need on disk. */
  directory: string;
  logger: Logger;
}

export interface SpeechParts {
  synthesizer: Synthesizer;
  recognizer: Recognizer;
  /** For files, as voice cloning uploads them. */
  transcriber: Transcriber;
  /** One for each caller. */
  openDetector(): Promise<ActivityDetector>;
  /** What the owner should know: backends that fail, voices that are missing. */
  warnings(): string[];
  close(): Promise<void>;
}

const remoteBackends = ['sidecar', 'compat'];
const remotePatienceMs = 8000;

/** The parts of speech that the options ask for. Models are loaded when they are first used. */
export function createSpeechParts(options: VoiceOptions, surroundings: Surroundings): SpeechParts {
  const { logger } = surroundings;
  const notices = new Notices(logger);
  const activity = createHost('voice activity', './activity/silero/silero.worker.ts', logger);
  const openDetector = createDetectors(activity);
  const hearing = createHearing(options, logger);
  const synthesizer = createSynthesizer(options, surroundings, notices);
  return {
    synthesizer,
    ...hearing,
    openDetector: async () => openDetector(),
    warnings: () => notices.words,
    async close() {
      await Promise.all([synthesizer.close(), hearing.recognizer.close(), activity.close()]);
    },
  };
}

function createSynthesizer(
  options: VoiceOptions,
  { sidecar, directory, logger }: Surroundings,
  notices: Notices,
) {
  const {
    sidecarSampleRate,
    sidecarReferenceId: referenceId,
    inprocVoice: voice,
    inprocLang: language,
  } = options;
  const { ttsCompatUrl: url, ttsCompatModel: model, ttsCompatVoice, ttsCompatApiKey: apiKey } = options;
  const bySidecar = createSidecarSynthesizer({
    sidecar,
    sampleRate: sidecarSampleRate,
    referenceId,
    notices,
  });
  const sampleRate = options.ttsCompatSampleRate;
  const byCompat = createCompatSynthesizer({
    url,
    model,
    voice: ttsCompatVoice,
    apiKey,
    sampleRate,
    notices,
  });
  const kokoroHost = createHost('the Kokoro voice', './synthesis/inprocess/kokoro/kokoro.worker.ts', logger);
  const kokoro = createKokoroVoice({ host: kokoroHost, notices, voice, language });
  const settings: PiperSettings = { directory: join(directory, 'piper') };
  const piperHost = createHost(
    'the Piper voice',
    './synthesis/inprocess/piper/piper.worker.ts',
    logger,
    settings,
  );
  const piper = createPiperVoice({ host: piperHost, notices, voice });
  const all = { sidecar: bySidecar, compat: byCompat, kokoro, piper };
  return createFallbackSynthesizer({
    backend: options.ttsBackend,
    order: (request) => orderOf(request, all, options),
    patienceMs: (name) => (remoteBackends.includes(name) ? remotePatienceMs : undefined),
    notices,
    close: async () => void (await Promise.all(Object.values(all).map((backend) => backend.close()))),
  });
}

type Backends = Record<'sidecar' | 'compat' | 'kokoro' | 'piper', Synthesizer>;

/** The wanted one, then those of this machine, then the sidecar; never an endpoint that nobody chose. */
function orderOf(
  { backend, voice }: SpeechRequest,
  { sidecar, compat, kokoro, piper }: Backends,
  { ttsBackend, inprocVoice }: VoiceOptions,
): Synthesizer[] {
  const local = isPiper(voice ?? inprocVoice) ? [piper, kokoro] : [kokoro, piper];
  switch (backend ?? ttsBackend) {
    case 'inprocess':
      return [...local, sidecar];
    case 'compat':
      return [compat, ...local, sidecar];
    default:
      return [sidecar, ...local];
  }
}

function createHearing(options: VoiceOptions, logger: Logger) {
  const { sttBackend: backend, sttUrl: url, sttModel: model, sttApiKey: apiKey, sttModelDir } = options;
  const host = createHost('speech recognition', './recognition/ears.worker.ts', logger, {
    modelDirectory: sttModelDir,
  });
  const { scan, words } = createEars(host);
  const close = () => host.close();
  if (backend === 'compat') {
    const endpoint = { url, model, apiKey };
    const recognizer = createCompatRecognizer({ ...endpoint, scan, close });
    return { recognizer, transcriber: createCompatTranscriber(endpoint) };
  }
  const recognizer = createGatedRecognizer({ backend, scan, listen: words, close });
  return { recognizer, transcriber: createLocalTranscriber(recognizer) };
}

function createHost(name: string, script: string, logger: Logger, settings: object = {}): WorkerHost {
  return new WorkerHost({
    name,
    script: new URL(script, import.meta.url),
    settings,
    mostWaiting: 64,
    timeoutMs: 60_000,
    logger,
  });
}
