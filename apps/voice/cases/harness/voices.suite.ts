import type { Clock } from '@trunkline/schedule';
import type { CallComponents } from '../../call/call-components.ts';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import type { RecordedSpeech } from './case.suite.ts';
import { activityIn, coughOf, noiseOf, silenceOf, speechOf, textIn } from './code.suite.ts';

/** Who speaks and listens in a case: the code of words, or the real models. */
export interface Voices {
  speech: CallComponents['speech'];
  /** The caller's own sounds, at 16 kHz. */
  sounds: Sounds;
  /** Waits until no model is at work, so that time may pass. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

interface Sounds {
  speech(text: string): Promise<Int16Array>;
  /** Only with real models. */
  recorded?(speech: RecordedSpeech): Promise<Int16Array>;
  cough(ms: number): Int16Array;
  noise(ms: number): Int16Array;
  silence(ms: number): Int16Array;
}

export interface Delays {
  /** Milliseconds that recognition takes, and the first sound of a voice. */
  recognition?: number | undefined;
  synthesis?: number | undefined;
  /** The voice gives no sound at all. */
  mute?: boolean;
  /** Milliseconds until the models that listen stand. */
  loading?: number;
}

const rate = 16_000;
const frameSamples = rate / 10;

export function scriptedVoices(clock: Clock, delays: Delays = {}): Voices {
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
  const loaded = delays.loading === undefined ? Promise.resolve() : wait(delays.loading);
  return {
    speech: {
      recognizer: {
        backend: 'script',
        async recognize(samples) {
          const text = textIn(samples);
          await loaded;
          await wait(delays.recognition ?? 60);
          return text;
        },
        close: async () => undefined,
      },
      synthesizer: {
        backend: 'script',
        async *speak({ text, signal }) {
          await wait(delays.synthesis ?? 80);
          if (delays.mute) await new Promise((_, reject) => signal?.addEventListener('abort', reject));
          yield* framesOf(speechOf(text));
        },
        close: async () => undefined,
      },
      openDetector: async () => ({
        async accept(samples) {
          await loaded;
          return activityIn(samples);
        },
        reset: () => undefined,
        close: async () => undefined,
      }),
      openNoiseFilter: async () => undefined,
      openSmartTurn: async () => undefined,
      openTurnDetector: async () => undefined,
      warm: () => loaded,
    },
    sounds: { speech: async (text) => speechOf(text), cough: coughOf, noise: noiseOf, silence: silenceOf },
    settle: async () => undefined,
    close: async () => undefined,
  };
}

/** Scripted voices for one stage, with what was synthesized and when. */
export function recordedVoices() {
  const made: { text: string; at: number }[] = [];
  const voices = (clock: Clock): Voices => {
    const scripted = scriptedVoices(clock);
    const { synthesizer } = scripted.speech;
    const speak: typeof synthesizer.speak = (request) => {
      made.push({ text: request.text, at: clock.now() });
      return synthesizer.speak(request);
    };
    return { ...scripted, speech: { ...scripted.speech, synthesizer: { ...synthesizer, speak } } };
  };
  return { voices, made };
}

export function* framesOf(samples: Int16Array): Generator<AudioFrame> {
  for (let at = 0; at < samples.length; at += frameSamples)
    yield { samples: samples.slice(at, at + frameSamples), sampleRate: rate };
}
