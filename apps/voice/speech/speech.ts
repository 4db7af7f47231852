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
import { createFallbackSynthesizer } from './synthesis/fallback-synthesizer.ts';
import { createSidecarSynthesizer } from './synthesis/sidecar-synthesizer.ts';
import type { Synthesizer } from './synthesis/synthesizer.ts';
import { createCompatTranscriber } from './transcription/compat-transcriber.ts';
import { createLocalTranscriber } from './transcription/local-transcriber.ts';
import type { Transcriber } from './transcription/transcriber.ts';
import { WorkerHost } from './worker/host.ts';

interface Surroundings {
  sidecar: Sidecar;
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
export function createSpeechParts(options: VoiceOptions, { sidecar, logger }: Surroundings): SpeechParts {
  const notices = new Notices(logger);
  const activity = createHost('voice activity', './activity/silero/silero.worker.ts', logger);
  const openDetector = createDetectors(activity);
  const hearing = createHearing(options, logger);
  const synthesizer = createSynthesizer(options, sidecar, notices);
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

function createSynthesizer(options: VoiceOptions, sidecar: Sidecar, notices: Notices): Synthesizer {
  const { ttsBackend: backend, sidecarSampleRate: sampleRate, sidecarReferenceId: referenceId } = options;
  const bySidecar = createSidecarSynthesizer({ sidecar, sampleRate, referenceId, notices });
  return createFallbackSynthesizer({
    backend,
    order: () => [bySidecar],
    patienceMs: (name) => (remoteBackends.includes(name) ? remotePatienceMs : undefined),
    notices,
    close: () => bySidecar.close(),
  });
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
