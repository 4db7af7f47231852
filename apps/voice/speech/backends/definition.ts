import type { OptionsOf, OptionTable } from '@trunkline/config';
import type { Diagnosis } from '@trunkline/service';
import type { LiveLimits } from '../recognition/live/live-connection.ts';
import type {
  ListenOptions,
  LiveUtterance,
  LocalRecognition,
  RecognitionOptions,
} from '../recognition/recognizer.ts';
import type { Sidecar } from '../sidecar/client.ts';
import type {
  MeasureVoice,
  MeasuringConditions,
  VoiceDescription,
} from '../synthesis/inprocess/voice-choice.ts';
import type { SpeechRequest, Synthesizer } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import type { CreateHost } from '../worker/host.ts';

type OptionSet = OptionTable['options'];

export interface BackendContext {
  sidecar: Sidecar;
  /** The local recognition models, loaded when first used. */
  local: LocalRecognition;
  /** For files that models need on disk. */
  directory: string;
  createHost: CreateHost;
  warnings: SpeechWarnings;
  /** Times a voice; tests give their own. */
  measureVoice?: MeasureVoice | undefined;
  /** Voices say a text in the same way each time, for tests. */
  isSteady: boolean;
  /** Instead of a remote recogniser's own; tests wait longer. */
  recognitionLimits?: RecognitionLimits | undefined;
}

/** Milliseconds. */
export interface RecognitionLimits {
  /** For a piece of speech that a caller waits for. */
  live: number;
  /** For an uploaded file. */
  file: number;
  streaming?: LiveLimits;
}

/** A way to speak, to listen, or both. To add one, write a file here and name it in `list.ts`. */
export interface SpeechBackend<Options extends OptionSet = OptionSet> {
  /** The value of TTS_BACKEND, STT_BACKEND, and of `tts_backend` in skills. */
  name: string;
  /** Its settings, which become settings of the service. */
  options: Options;
  synthesis?: SynthesisDefinition<ValuesOf<Options>>;
  recognition?: RecognitionDefinition<ValuesOf<Options>>;
  /** What `trunkline doctor` reports about it; `isChosen`: TTS_BACKEND or STT_BACKEND names it. */
  diagnose?(options: ValuesOf<Options>, isChosen: boolean): Promise<Diagnosis[]>;
}

type ValuesOf<Options extends OptionSet> = OptionsOf<OptionTable<Options>>;

interface SynthesisDefinition<Values> {
  /** Speaks over the network: if another backend could speak, a caller waits only some seconds for its sound. */
  isRemote: boolean;
  /** Speaks if the chosen backend fails. Local ones go before remote ones. */
  isFallback: boolean;
  /** Keeps voices made from recordings. */
  clonesVoices: boolean;
  create(options: Values, context: BackendContext): BackendVoices;
}

export interface BackendVoices {
  /** All its voices; the others speak if the first fails. */
  synthesizers: readonly Synthesizer[];
  preferred?(request: SpeechRequest): Synthesizer;
  /** Whether a remote backend answers now; without this it is assumed to. */
  answers?(): Promise<boolean>;
  /** Which of its voices speaks where a skill names none, and why. */
  describe?(): VoiceDescription;
  /** Measures its voices, if the machine is to choose one and has not yet. */
  chooseVoice?(signal: AbortSignal, conditions?: MeasuringConditions): Promise<void>;
}

interface RecognitionDefinition<Values> {
  create(options: Values, context: BackendContext): BackendRecognition;
}

export interface BackendRecognition {
  /** Each transcript costs as much as the whole utterance, so that interim ones become rarer the longer it gets. */
  isCostly?: boolean;
  /** Writes down whatever language is spoken, as no setting names one. */
  isMultilingual?: boolean;
  /** The one language that it writes down, whatever it is asked for: a code such as `en`. */
  onlyLanguage?: string;
  /** Transcribes a piece of speech. It gets no silence, and implausible text is dropped. */
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  /** Transcribes an uploaded file; without this `transcribe` gets its samples. */
  transcribeFile?(file: SpeechFile, signal?: AbortSignal): Promise<string>;
  /** Hears an utterance as it is spoken; `transcribe` gets all of it where this gives nothing or breaks. */
  listen?(options: ListenOptions): LiveUtterance | undefined;
  warm?(): Promise<void>;
  close?(): Promise<void>;
}

export interface SpeechFile {
  bytes: Uint8Array;
  /** The uploaded file's name; endpoints recognise the format by it. */
  name: string;
}

/** Checks a definition against its own options. */
export function defineSpeechBackend<const Options extends OptionSet>(
  backend: SpeechBackend<Options>,
): SpeechBackend<Options> {
  return backend;
}
