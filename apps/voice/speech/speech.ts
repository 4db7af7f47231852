import type { Logger } from '@trunkline/config';
import { wordsOf } from '../errors.ts';
import type { VoiceOptions } from '../options.ts';
import type { ActivityDetector } from './activity/detector.ts';
import { createDetectors } from './activity/local-detector.ts';
import { createSmartTurns, type SmartTurnSettings, smartTurnPath } from './ending/local-smart-turn.ts';
import type { SmartTurn } from './ending/smart-turn.ts';
import { createNoiseFilters } from './noise/local-noise-filter.ts';
import type { NoiseFilter } from './noise/noise-filter.ts';
import { Notices } from './notices.ts';
import { createHearing } from './recognition/compose.ts';
import type { Recognizer } from './recognition/recognizer.ts';
import { type Sidecar, SidecarError } from './sidecar/sidecar.ts';
import { createVoices } from './synthesis/compose.ts';
import type { Synthesizer } from './synthesis/synthesizer.ts';
import type { Transcriber } from './transcription/transcriber.ts';
import { type CreateHost, createHosts } from './worker/create-hosts.ts';

interface Surroundings {
  sidecar: Sidecar;
  /** For files that models need on disk, and models that the owner puts there. */
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
  /** One for each caller; nothing when it is off. */
  openNoiseFilter(): Promise<NoiseFilter | undefined>;
  /** One for each caller; nothing when it is off or its model is absent. */
  openSmartTurn(): Promise<SmartTurn | undefined>;
  /**
   * Loads the models that a call needs, once: called when a caller connects, so that nobody waits later. Fulfilled when
   * those that listen stand, or cannot be had.
   */
  warm(): Promise<void>;
  describe(): SpeechDescription;
  close(): Promise<void>;
}

/** What works, for the health page. */
export interface SpeechDescription {
  tts: string;
  stt: string;
  noise_filter: string;
  smart_turn: 'off' | 'local' | 'absent';
  /** What the owner should know: backends that fail, voices that are missing. */
  warnings: string[];
}

/** The parts of speech that the options ask for. Models are loaded when they are first used, in threads of their own. */
export function createSpeechParts(
  options: VoiceOptions,
  { sidecar, directory, logger }: Surroundings,
): SpeechParts {
  const notices = new Notices(logger);
  const createHost = createHosts(logger);
  const hearing = createHearing(options, createHost);
  const synthesizer = createVoices(options, { sidecar, directory, createHost, notices });
  const frames = createFrameParts(options, { directory, logger }, createHost);
  const { recognizer, transcriber } = hearing;
  const warm = createWarming(
    () => ({
      listening: [hearing.warm(), frames.warm()],
      speaking: [warmVoice(options, sidecar, synthesizer)],
    }),
    notices,
  );
  return {
    synthesizer,
    recognizer,
    transcriber,
    openDetector: frames.openDetector,
    openNoiseFilter: frames.openNoiseFilter,
    openSmartTurn: frames.openSmartTurn,
    warm,
    describe: () => ({
      tts: options.ttsBackend,
      stt: options.sttBackend,
      noise_filter: options.noiseFilter,
      smart_turn: frames.smartTurn,
      warnings: notices.words,
    }),
    async close() {
      await Promise.all([synthesizer.close(), recognizer.close(), frames.close()]);
    },
  };
}

/** The parts that work on the microphone's frames. */
function createFrameParts(
  { noiseFilter, smartTurn }: VoiceOptions,
  { directory, logger }: Omit<Surroundings, 'sidecar'>,
  createHost: CreateHost,
) {
  const script = (path: string) => new URL(path, import.meta.url);
  const activity = createHost('voice activity', script('./activity/silero/silero.worker.ts'));
  const noise = createHost('the noise filter', script('./noise/rnnoise/rnnoise.worker.ts'));
  const path = smartTurn === 'local' ? smartTurnPath(directory) : undefined;
  const settings: SmartTurnSettings = { path: path ?? '' };
  const ending = createHost('the end-of-turn model', script('./ending/smart-turn.worker.ts'), settings);
  if (smartTurn === 'local' && path === undefined)
    logger.warn({ directory }, 'SMART_TURN=local does nothing: put smart-turn.onnx into this directory');
  const openDetector = createDetectors(activity);
  const openFilter = createNoiseFilters(noise);
  const openJudge = createSmartTurns(ending);
  return {
    openDetector: async () => openDetector(),
    openNoiseFilter: async () => (noiseFilter === 'rnnoise' ? openFilter() : undefined),
    openSmartTurn: async () => (path === undefined ? undefined : openJudge()),
    smartTurn: path === undefined && smartTurn === 'local' ? ('absent' as const) : smartTurn,
    warm: async () => void (await openDetector().accept(new Float32Array(512))),
    close: async () => void (await Promise.all([activity.close(), noise.close(), ending.close()])),
  };
}

/**
 * The voices of this machine are loaded by a word that nobody hears, when they are to speak: because they were chosen,
 * or because no sidecar answers.
 */
async function warmVoice(
  { ttsBackend }: VoiceOptions,
  sidecar: Sidecar,
  synthesizer: Synthesizer,
): Promise<void> {
  if (ttsBackend === 'compat') return;
  if (ttsBackend === 'sidecar' && (await answers(sidecar))) return;
  for await (const _frame of synthesizer.speak({ text: 'Hello.', backend: 'inprocess' })) break;
}

const sidecarPatienceMs = 5000;

async function answers(sidecar: Sidecar): Promise<boolean> {
  try {
    await sidecar.listReferences(AbortSignal.timeout(sidecarPatienceMs));
    return true;
  } catch (error) {
    // One that refuses to list its voices may speak all the same.
    return error instanceof SidecarError && error.code === 'refused';
  }
}

interface Loading {
  listening: readonly Promise<void>[];
  speaking: readonly Promise<void>[];
}

function createWarming(start: () => Loading, notices: Notices): () => Promise<void> {
  let ready: Promise<void> | undefined;
  const settle = async (models: readonly Promise<void>[]) => {
    for (const { reason } of await failuresOf(models))
      notices.tell(`warm ${wordsOf(reason)}`, `A speech model is not ready: ${wordsOf(reason)}`);
  };
  const load = async () => {
    const { listening, speaking } = start();
    void settle(speaking);
    await settle(listening);
  };
  return () => {
    ready ??= load();
    return ready;
  };
}

async function failuresOf(work: readonly Promise<void>[]): Promise<PromiseRejectedResult[]> {
  return (await Promise.allSettled(work)).filter((result) => result.status === 'rejected');
}
