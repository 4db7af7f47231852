import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import { StreamResampler } from '../../speech/audio/resample.ts';
import { type AudioFrame, concatSamples, toFloat32, toInt16 } from '../../speech/audio/samples.ts';
import type { ActivityDetector, NoiseFilter } from '../../speech/frame-models.ts';
import type { SpeechParts } from '../../speech/speech.ts';
import { Alarm } from '../clock.ts';
import { InputGain } from './input-gain.ts';

export interface AudioInputDeps {
  speech: Pick<SpeechParts, 'openDetector' | 'openNoiseFilter'>;
  /** False while half duplex closes the microphone. */
  isOpen(): boolean;
  /** The bot may be heard through the microphone. */
  isBotSpeaking(): boolean;
  /** Takes windows at 16 kHz with the probability of speech. */
  onWindow(samples: Float32Array, probability: number): void;
  logger: Logger;
}

/** A microphone's way to the speech detector. */
export interface AudioInput {
  readonly muted: boolean;
  accept(frame: AudioFrame): void;
  close(): Promise<void>;
}

const listeningRate = 16_000;

/** Frames of a microphone in, windows with the probability of speech out; with the noise filtered where it is set up. */
export async function openAudioInput({ speech, ...deps }: AudioInputDeps): Promise<AudioInput> {
  const [detector, filter] = await Promise.all([speech.openDetector(), speech.openNoiseFilter()]);
  const resampler = new StreamResampler(listeningRate);
  const vad = new VadStream({
    ...deps,
    detector,
    downsample: (frame) => toFloat32(resampler.push(frame).samples),
  });
  const cleaner = filter && new NoiseCleaner(filter, (frame) => vad.accept(frame), deps.logger);
  return {
    get muted() {
      return vad.muted;
    },
    accept: (frame) => (cleaner ?? vad).accept(frame),
    async close() {
      vad.close();
      await Promise.all([detector.close(), cleaner?.close()]);
    },
  };
}

/** 32 ms at 16 kHz. */
const windowSamples = 512;
/** About three seconds: a detector that is further behind skips the oldest windows. */
const mostWaiting = 100;
/** Thirty seconds: what is said while the detector loads is heard later. */
const mostWaitingAtFirst = 940;
/** Samples of a muted microphone stay below this; a room is never so quiet. */
const mutedBelow = 3;
const mutedAfterMs = 1000;

export interface VadStreamDeps {
  detector: ActivityDetector;
  /** Resamples to 16 kHz, -1 to 1. */
  downsample(frame: AudioFrame): Float32Array;
  /** False while half duplex closes the microphone. */
  isOpen(): boolean;
  isBotSpeaking(): boolean;
  onWindow(samples: Float32Array, probability: number): void;
  logger: Logger;
}

/** Cuts frames into windows and detects speech in them, in order. */
export class VadStream {
  readonly #deps: VadStreamDeps;
  readonly #waiting: Float32Array[] = [];
  readonly #gain = new InputGain();
  #rest = new Float32Array(0);
  #busy = false;
  #caughtUp = false;
  #closed = false;
  #silentMs = 0;
  #warned = false;

  constructor(deps: VadStreamDeps) {
    this.#deps = deps;
  }

  /** Nothing but digital silence comes: the microphone is muted. */
  get muted(): boolean {
    return this.#silentMs >= mutedAfterMs;
  }

  accept(frame: AudioFrame): void {
    if (this.#closed) return;
    this.#trackLevel(frame);
    const samples = this.#deps.downsample(frame);
    if (this.#deps.isOpen()) this.#cut(samples);
    else this.#discard();
    if (!this.#busy) void this.#work();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
  }

  #trackLevel({ samples, sampleRate }: AudioFrame): void {
    const isSilent = samples.every((sample) => Math.abs(sample) < mutedBelow);
    this.#silentMs = isSilent ? this.#silentMs + (samples.length / sampleRate) * 1000 : 0;
  }

  #discard(): void {
    this.#waiting.length = 0;
    this.#rest = new Float32Array(0);
  }

  #cut(samples: Float32Array): void {
    const joined = concatSamples([this.#rest, samples]);
    const isBotSpeaking = this.#deps.isBotSpeaking();
    let start = 0;
    for (; start + windowSamples <= joined.length; start += windowSamples)
      this.#waiting.push(this.#gain.apply(joined.slice(start, start + windowSamples), isBotSpeaking));
    this.#rest = joined.slice(start);
    const most = this.#caughtUp ? mostWaiting : mostWaitingAtFirst;
    if (this.#waiting.length > most) this.#waiting.splice(0, this.#waiting.length - most);
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let window = this.#waiting.shift(); window !== undefined; window = this.#waiting.shift()) {
      const probability = await this.#detect(window);
      if (this.#closed) break;
      this.#deps.onWindow(window, probability);
      this.#caughtUp ||= this.#waiting.length === 0;
    }
    this.#busy = false;
  }

  /** A detector that fails counts as silence; the call goes on by text. */
  async #detect(window: Float32Array): Promise<number> {
    try {
      return await this.#deps.detector.accept(window);
    } catch (error) {
      if (!this.#warned && !this.#closed)
        this.#deps.logger.error(
          { err: error },
          'voice activity detection failed; the caller cannot be heard',
        );
      this.#warned = true;
      return 0;
    }
  }
}

const filterRate = 48_000;
const filterSamples = 480;
/** One second; what exceeds it goes unfiltered. */
const mostFiltering = 100;

/** Sends frames through a noise filter and keeps their order. */
class NoiseCleaner {
  readonly #filter: NoiseFilter;
  readonly #deliver: (frame: AudioFrame) => void;
  readonly #logger: Logger;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #warned = false;

  constructor(filter: NoiseFilter, deliver: (frame: AudioFrame) => void, logger: Logger) {
    this.#filter = filter;
    this.#deliver = deliver;
    this.#logger = logger;
  }

  accept(frame: AudioFrame): void {
    const cleaned = this.#waiting < mostFiltering ? this.#clean(frame) : Promise.resolve(frame);
    this.#waiting += 1;
    this.#last = Promise.all([cleaned, this.#last]).then(([clean]) => {
      this.#waiting -= 1;
      this.#deliver(clean);
    });
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#filter.close();
  }

  async #clean(frame: AudioFrame): Promise<AudioFrame> {
    const { samples, sampleRate } = frame;
    if (sampleRate !== filterRate || samples.length !== filterSamples) return frame;
    try {
      return { samples: toInt16(await this.#filter.accept(toFloat32(samples))), sampleRate };
    } catch (error) {
      if (!this.#warned) this.#logger.warn({ err: error }, 'noise filter failed; audio goes unfiltered');
      this.#warned = true;
      return frame;
    }
  }
}

/** The page is not told of models that load faster. */
const noticedAfterMs = 300;

export type LoadingStatus = 'speech-loading' | 'speech-ready';

/** Whether the speech models still load. What is said meanwhile is kept, and recognised once they are ready. */
export class ModelLoading {
  readonly #report: (status: LoadingStatus) => void;
  readonly #alarm: Alarm;
  #isPending = true;
  #isReported = false;

  constructor(clock: Clock, report: (status: LoadingStatus) => void) {
    this.#alarm = new Alarm(clock);
    this.#report = report;
  }

  get isPending(): boolean {
    return this.#isPending;
  }

  /** `models` is fulfilled once they are ready or have failed. */
  async follow(models: Promise<void>): Promise<void> {
    this.#alarm.set(noticedAfterMs, () => {
      this.#isReported = true;
      this.#report('speech-loading');
    });
    await models;
    this.#isPending = false;
    this.#alarm.cancel();
    if (this.#isReported) this.#report('speech-ready');
  }

  /** Reports nothing from now on. */
  stop(): void {
    this.#alarm.cancel();
    this.#isReported = false;
  }
}
