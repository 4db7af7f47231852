import type { Logger } from '@trunkline/config';
import type { AudioFrame } from '../../speech/audio/frame.ts';
import { toFloat32, toInt16 } from '../../speech/audio/samples.ts';
import { StreamResampler } from '../../speech/audio/stream-resampler.ts';
import type { NoiseFilter } from '../../speech/noise/noise-filter.ts';
import type { SpeechParts } from '../../speech/speech.ts';
import { VadStream } from './audio-input.ts';

export interface AudioInputDeps {
  speech: Pick<SpeechParts, 'openDetector' | 'openNoiseFilter'>;
  /** Whether the microphone counts at the moment. */
  isOpen(): boolean;
  /** Takes windows at 16 kHz with the probability of speech. */
  heard(samples: Float32Array, probability: number): void;
  logger: Logger;
}

/** What a microphone's frames go through. */
export interface AudioInput {
  readonly muted: boolean;
  accept(frame: AudioFrame): void;
  close(): Promise<void>;
}

const listeningRate = 16_000;

/** Frames of a microphone in, windows out: noise is taken out where that is wanted, then speech is looked for. */
export async function openAudioInput({ speech, ...deps }: AudioInputDeps): Promise<AudioInput> {
  const [detector, filter] = await Promise.all([speech.openDetector(), speech.openNoiseFilter()]);
  const resampler = new StreamResampler(listeningRate);
  const ear = new VadStream({
    ...deps,
    detector,
    downsample: (frame) => toFloat32(resampler.push(frame).samples),
  });
  const cleaner = filter && new Cleaner(filter, (frame) => ear.accept(frame), deps.logger);
  return {
    get muted() {
      return ear.muted;
    },
    accept: (frame) => (cleaner ?? ear).accept(frame),
    async close() {
      ear.close();
      await Promise.all([detector.close(), cleaner?.close()]);
    },
  };
}

const filterRate = 48_000;
const filterSamples = 480;
/** One second; what does not fit is heard as it is. */
const mostWaiting = 100;

/** Sends frames through a noise filter and keeps their order. */
class Cleaner {
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
    const cleaned = this.#waiting < mostWaiting ? this.#clean(frame) : Promise.resolve(frame);
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
      if (!this.#warned) this.#logger.warn({ err: error }, 'noise is not filtered');
      this.#warned = true;
      return frame;
    }
  }
}
