import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { languages } from '../languages/languages.ts';
import type { VoiceOptions } from '../options.ts';
import type {
  BackendContext,
  BackendVoices,
  RecognitionLimits,
  SpeechBackend,
  SpeechFile,
} from './backends/definition.ts';
import { allBackends, findBackend } from './backends/registry.ts';
import {
  type ActivityDetector,
  createDetectors,
  createNoiseFilters,
  createSmartTurn,
  createTurnDetector,
  type NoiseFilter,
  type SmartTurn,
  type SmartTurnSettings,
  smartTurnPath,
  type TurnDetector,
} from './frame-models.ts';
import { createLanguageDetection } from './recognition/language/detection.ts';
import {
  createGatedRecognizer,
  createLocalRecognition,
  type Recognizer,
  recognizeFile,
} from './recognition/recognizer.ts';
import type { Sidecar } from './sidecar/client.ts';
import { createFallbackSynthesizer } from './synthesis/fallback-synthesizer.ts';
import type {
  MeasureVoice,
  MeasuringConditions,
  VoiceDescription,
} from './synthesis/inprocess/voice-choice.ts';
import type { Synthesizer } from './synthesis/synthesizer.ts';
import { SpeechWarnings } from './warnings.ts';
import { type CreateHost, createHosts } from './worker/host.ts';

interface SpeechDeps {
  sidecar: Sidecar;
  /** For files that models need on disk, and models that the operator puts there. */
  directory: string;
  /** Times a local voice; tests give their own. */
  measureVoice?: MeasureVoice | undefined;
  /** Piper says a text in the same way each time, for tests. */
  isSteady?: boolean;
  /** Instead of a remote recogniser's own, for tests. */
  recognitionLimits?: RecognitionLimits | undefined;
  /** How long a local model may take instead of a minute, for tests on a busy machine. */
  modelTimeoutMs?: number;
  /** Called with the time that a piece of work of any model for a call took, in milliseconds, without loading. */
  onWorked?: (ms: number) => void;
  logger: Logger;
}

export interface Transcriber {
  transcribe(file: SpeechFile, signal?: AbortSignal): Promise<string>;
}

export interface SpeechParts {
  synthesizer: Synthesizer;
  recognizer: Recognizer;
  /** For uploaded files. */
  transcriber: Transcriber;
  /** One for each caller. */
  openDetector(): Promise<ActivityDetector>;
  /** One for each caller; undefined if it is off. */
  openNoiseFilter(): Promise<NoiseFilter | undefined>;
  /** One for each caller; undefined if it is off or its model is absent. */
  openSmartTurn(): Promise<SmartTurn | undefined>;
  /** Our own model for callers who speak this language, a code such as `en`; undefined where another or none decides. */
  openTurnDetector(language: string): Promise<TurnDetector | undefined>;
  /** Tells the language of a text, such as `es`; undefined where it is not sure. Left out where the recogniser knows one language. */
  detectLanguage?: ((text: string) => Promise<string | undefined>) | undefined;
  /**
   * Loads the models that a call needs, once: called when a caller connects, so that nobody waits later. Fulfilled when
   * the models that listen are ready or have failed.
   */
  warm(): Promise<void>;
  /** Measures the voices of this machine, if it is to choose one and has not yet. */
  chooseVoice(signal: AbortSignal, conditions?: MeasuringConditions): Promise<void>;
  describe(): SpeechDescription;
  close(): Promise<void>;
}

/** For `/healthz`. */
interface SpeechDescription {
  tts: string;
  /** The voice of this machine that speaks where a skill names none; only with TTS_BACKEND=inprocess. */
  voice?: VoiceDescription;
  stt: string;
  /** The only language that is understood when it is spoken; left out where callers may speak any. */
  stt_language?: string;
  /** Languages that a call has its own phrases in. */
  languages: readonly string[];
  noise_filter: string;
  smart_turn: 'off' | 'local';
  /** Backends that fail, voices that are missing. */
  warnings: string[];
}

/** Models load when first used, each kind in its own thread. */
export function createSpeechParts(options: VoiceOptions, deps: SpeechDeps): SpeechParts {
  const { sidecar, directory, measureVoice, isSteady = false, recognitionLimits, logger } = deps;
  const { onWorked, modelTimeoutMs } = deps;
  const warnings = new SpeechWarnings(logger);
  const createHost = createHosts(logger, {
    ...(onWorked && { onWorked }),
    ...(modelTimeoutMs !== undefined && { timeoutMs: modelTimeoutMs }),
  });
  const local = createLocalRecognition(createHost, { modelDirectory: options.sttModelDir });
  const context = {
    sidecar,
    local,
    directory,
    createHost,
    warnings,
    measureVoice,
    isSteady,
    recognitionLimits,
  };
  const listening = createListening(options, context);
  const speaking = createSpeaking(options, context);
  const frames = createFrameParts(options, { directory }, createHost);
  const { synthesizer } = speaking;
  const { recognizer, transcriber } = listening;
  const load = async (...models: Promise<void>[]) => {
    for (const outcome of await Promise.allSettled(models)) {
      if (outcome.status === 'fulfilled') continue;
      const reason = errorMessage(outcome.reason);
      warnings.report(`warm ${reason}`, `A speech model is not ready: ${reason}`);
    }
  };
  let ready: Promise<void> | undefined;
  return {
    synthesizer,
    recognizer,
    transcriber,
    openDetector: frames.openDetector,
    openNoiseFilter: frames.openNoiseFilter,
    openSmartTurn: frames.openSmartTurn,
    openTurnDetector: frames.openTurnDetector,
    detectLanguage: listening.detectLanguage,
    warm() {
      if (ready === undefined) void load(speaking.warm());
      ready ??= load(listening.warm(), frames.warm());
      return ready;
    },
    chooseVoice: speaking.chooseVoice,
    describe: () => ({
      tts: options.ttsBackend,
      ...speaking.describe(),
      stt: options.sttBackend,
      ...listening.describe(),
      languages: Object.keys(languages),
      noise_filter: options.noiseFilter,
      smart_turn: options.smartTurn,
      warnings: warnings.texts,
    }),
    async close() {
      await Promise.all([synthesizer.close(), recognizer.close(), frames.close()]);
    },
  };
}

/** Half a second of silence loads a model. */
const silence = new Float32Array(8000);

function createListening(options: VoiceOptions, context: BackendContext) {
  const { sttBackend: backend } = options;
  const recognition = findBackend(backend)?.recognition?.create(options, context);
  if (recognition === undefined) throw new Error(`the speech backend ${backend} does not listen`);
  const { scan, close } = context.local;
  const recognizer = createGatedRecognizer({
    backend,
    scan,
    ...recognition,
    close: async () => void (await Promise.all([close(), recognition.close?.(), words?.close()])),
  });
  const transcriber: Transcriber = {
    transcribe: (file, signal) =>
      recognition.transcribeFile?.(file, signal) ?? recognizeFile(recognizer, file.bytes, signal),
  };
  const words = recognition.isMultilingual ? createLanguageDetection(context) : undefined;
  const warm = async () => {
    void words?.detect('');
    await scan(silence, { final: false });
    await recognition.warm?.();
  };
  const { onlyLanguage } = recognition;
  const describe = () => (onlyLanguage === undefined ? {} : { stt_language: onlyLanguage });
  return { recognizer, transcriber, detectLanguage: words?.detect, warm, describe };
}

interface SpeakingBackend extends BackendVoices {
  name: string;
  synthesis: NonNullable<SpeechBackend['synthesis']>;
}

/** How long a caller waits for a remote voice before a local one speaks. */
const remoteTimeoutMs = 8000;

/** All voices, each followed by those that speak if it fails. */
function createSpeaking(options: VoiceOptions, context: BackendContext) {
  const backends = allBackends().flatMap(({ name, synthesis }): SpeakingBackend[] =>
    synthesis === undefined ? [] : [{ name, synthesis, ...synthesis.create(options, context) }],
  );
  const remote = new Set(
    backends.filter(({ synthesis }) => synthesis.isRemote).flatMap(({ synthesizers }) => synthesizers),
  );
  const all = backends.flatMap(({ synthesizers }) => synthesizers);
  const synthesizer = createFallbackSynthesizer({
    backend: options.ttsBackend,
    order: (request) =>
      inOrder(backends, request.backend ?? options.ttsBackend).flatMap(({ synthesizers, preferred }) => {
        const first = preferred?.(request);
        return first === undefined ? synthesizers : [first, ...synthesizers.filter((each) => each !== first)];
      }),
    timeoutMs: (each) => (remote.has(each) ? remoteTimeoutMs : undefined),
    isRemote: (each) => remote.has(each),
    warnings: context.warnings,
    close: async () => void (await Promise.all(all.map(async (each) => each.close?.()))),
  });
  const chosen = backends.find(({ name }) => name === options.ttsBackend);
  return {
    synthesizer,
    warm: () => warmVoice(inOrder(backends, options.ttsBackend), synthesizer),
    describe: () => (chosen?.describe === undefined ? {} : { voice: chosen.describe() }),
    chooseVoice: async (signal: AbortSignal, conditions?: MeasuringConditions) =>
      chosen?.chooseVoice?.(signal, conditions),
  };
}

/** The chosen backend, then the fallbacks, local ones first. */
function inOrder(backends: readonly SpeakingBackend[], chosen: string): SpeakingBackend[] {
  const fallbacks = backends
    .filter(({ name, synthesis }) => synthesis.isFallback && name !== chosen)
    .toSorted((left, right) => Number(left.synthesis.isRemote) - Number(right.synthesis.isRemote));
  return [...backends.filter(({ name }) => name === chosen), ...fallbacks];
}

/** Loads the local voices with a word that nobody hears, unless a remote backend answers before them. */
async function warmVoice(backends: readonly SpeakingBackend[], synthesizer: Synthesizer): Promise<void> {
  for (const { name, synthesis, answers } of backends) {
    if (!synthesis.isRemote) {
      for await (const _frame of synthesizer.speak({ text: 'Hello.', backend: name })) break;
      return;
    }
    if (answers === undefined || (await answers())) return;
  }
}

/** Models that process the microphone's frames. */
function createFrameParts(
  { noiseFilter, smartTurn }: VoiceOptions,
  { directory }: Pick<SpeechDeps, 'directory'>,
  createHost: CreateHost,
) {
  const script = (path: string) => new URL(path, import.meta.url);
  const only = { servesOnlyCalls: true };
  const activity = createHost('voice activity', script('./activity/silero/silero.worker.ts'), only);
  const noise = createHost('the noise filter', script('./noise/rnnoise/rnnoise.worker.ts'), only);
  const path = smartTurn === 'local' ? smartTurnPath(directory) : undefined;
  const settings: SmartTurnSettings = { path: path ?? '' };
  const ending = createHost('smart-turn.onnx', script('./ending/smart-turn.worker.ts'), {
    settings,
    ...only,
  });
  const turns = createHost('the end-of-turn model', script('./ending/turn-model.worker.ts'), only);
  const isOurs = smartTurn === 'local' && path === undefined;
  const openDetector = createDetectors(activity);
  const openFilter = createNoiseFilters(noise);
  return {
    openDetector: async () => openDetector(),
    openNoiseFilter: async () => (noiseFilter === 'rnnoise' ? openFilter() : undefined),
    openSmartTurn: async () => (path === undefined ? undefined : createSmartTurn(ending)),
    openTurnDetector: async (language: string) => (isOurs ? createTurnDetector(turns, language) : undefined),
    warm: async () => {
      const judged = isOurs ? turns.ask({ text: '', language: 'en' }) : undefined;
      await Promise.all([openDetector().accept(new Float32Array(512)), judged]);
    },
    close: async () =>
      void (await Promise.all([activity.close(), noise.close(), ending.close(), turns.close()])),
  };
}
