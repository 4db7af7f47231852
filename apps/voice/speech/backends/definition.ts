import type { OptionsOf, OptionTable } from '@trunkline/config';
import type { Diagnosis } from '@trunkline/service';
import type { LocalRecognition, RecognitionOptions } from '../recognition/recognizer.ts';
import type { Sidecar } from '../sidecar/client.ts';
import type { SpeechRequest, Synthesizer } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import type { CreateHost } from '../worker/host.ts';

type OptionSet = OptionTable['options'];

/** What a backend is created with, beside its options. */
export interface BackendContext {
  sidecar: Sidecar;
  /** The recognition models of this machine, loaded when they are first used. */
  local: LocalRecognition;
  /** For files that models need on disk. */
  directory: string;
  createHost: CreateHost;
  warnings: SpeechWarnings;
}

/** A way to speak, to listen, or both. To add one, write a file here and name it in `list.ts`. */
export interface SpeechBackend<Options extends OptionSet = OptionSet> {
  /** The value of TTS_BACKEND, STT_BACKEND, and of `tts_backend` in skills. */
  name: string;
  /** Its settings, which join those of the service. */
  options: Options;
  synthesis?: SynthesisDefinition<ValuesOf<Options>>;
  recognition?: RecognitionDefinition<ValuesOf<Options>>;
  /** What `trunkline doctor` reports about it. */
  diagnose?(options: ValuesOf<Options>): Promise<Diagnosis[]>;
}

type ValuesOf<Options extends OptionSet> = OptionsOf<OptionTable<Options>>;

interface SynthesisDefinition<Values> {
  /** Speaks over the network: a caller waits only some seconds for its sound where another backend could speak. */
  isRemote: boolean;
  /** Speaks for a chosen backend that fails. Those of this machine go before remote ones. */
  isFallback: boolean;
  /** Keeps voices made from recordings. */
  clonesVoices: boolean;
  create(options: Values, context: BackendContext): BackendVoices;
}

export interface BackendVoices {
  /** All its voices; those after the first speak when it fails. */
  synthesizers: readonly Synthesizer[];
  /** Which of them goes first for this request. */
  preferred?(request: SpeechRequest): Synthesizer;
  /** Whether a remote backend answers now; one that cannot be asked is taken to. */
  answers?(): Promise<boolean>;
}

interface RecognitionDefinition<Values> {
  create(options: Values, context: BackendContext): BackendRecognition;
}

export interface BackendRecognition {
  /** Turns a piece of speech into text. Silence is kept from it, and implausible text is dropped. */
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  /** Turns an uploaded file into text; the samples of the file are given to `transcribe` when not given. */
  transcribeFile?(file: SpeechFile, signal?: AbortSignal): Promise<string>;
  /** Loads its models. */
  warm?(): Promise<void>;
}

/** A file with speech. */
export interface SpeechFile {
  bytes: Uint8Array;
  /** As the uploader calls it; endpoints recognise the format by it. */
  name: string;
}

/** Checks a definition against its own options. */
export function defineSpeechBackend<const Options extends OptionSet>(
  backend: SpeechBackend<Options>,
): SpeechBackend<Options> {
  return backend;
}
