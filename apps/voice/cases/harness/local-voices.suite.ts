import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, readOptions } from '@trunkline/config';
import { temporaryDirectory } from '@trunkline/testing';
import { voiceOptions } from '../../options.ts';
import { StreamResampler } from '../../speech/audio/resample.ts';
import { type AudioFrame, toFloat32 } from '../../speech/audio/samples.ts';
import { createSidecarClient } from '../../speech/sidecar/client.ts';
import { createSpeechParts, type SpeechParts } from '../../speech/speech.ts';
import { checkWeights, weights } from '../../speech/weights.ts';
import { type Recordings, recordedSound } from './recordings.suite.ts';
import type { Voices } from './voices.suite.ts';

const rate = 16_000;
const botVoice = 'piper';
/** Real time, which passes while the case's clock stands still; only a hang takes so long. */
const longestMs = 240_000;
const recognitionLimits = {
  live: longestMs,
  file: longestMs,
  streaming: {
    connect: longestMs,
    finish: longestMs,
    quiet: longestMs,
    idle: longestMs,
    keepAlive: longestMs,
  },
};

/** Whether the models that the cases need came with the installation. */
export async function hasLocalVoices(): Promise<boolean> {
  const needed = weights.filter(({ name }) => /Moonshine|Piper|Kokoro|Silero/.test(name));
  const states = await Promise.all(needed.map((entry) => checkWeights(entry)));
  return states.every((state) => state === 'ready');
}

/** The models of this machine: Piper speaks for the bot and the caller, Silero and Moonshine listen. `settings`: of the service. */
export async function openLocalVoices(
  callerVoice = 'piper:60',
  recordings: Recordings = new Map(),
  settings: Record<string, string> = {},
) {
  const { path, remove } = temporaryDirectory();
  const env = {
    TTS_BACKEND: 'inprocess',
    INPROC_VOICE: botVoice,
    SIDECAR_URL: 'http://127.0.0.1:9',
    // As with npm start.
    SMART_TURN: 'local',
    ...settings,
  };
  const create = (changes: Record<string, string> = {}) => {
    const options = readOptions(voiceOptions, { env: { ...env, ...changes } });
    const sidecar = createSidecarClient({ url: options.sidecarUrl, timeoutMs: 1000 });
    return createSpeechParts(options, {
      sidecar,
      directory: path,
      isSteady: true,
      modelTimeoutMs: longestMs,
      recognitionLimits,
      logger: silent,
    });
  };
  const speech = rememberSpeech(create());
  const spoken = new Map<string, Int16Array>();
  const say = async (text: string) => {
    const known = spoken.get(text) ?? (await soundOf(speech, text, callerVoice));
    spoken.set(text, known);
    return known;
  };
  const openWith = (parts: SpeechParts) =>
    countedVoices(parts, { speech: say, recorded: (wanted) => recordedSound(wanted, recordings) });
  return {
    /** For one case; the models stay loaded. */
    open: () => openWith(speech),
    /** The same voices with the recogniser that other settings of the service ask for. */
    listeningBy(changes: Record<string, string>) {
      const other = create(changes);
      const { recognizer, transcriber, detectLanguage, describe } = other;
      return {
        open: () => openWith({ ...speech, recognizer, transcriber, detectLanguage, describe }),
        /** Backends that failed, as `/healthz` reports them. */
        warnings: () => describe().warnings,
        close: other.close,
      };
    },
    /** Loads the models. */
    warm: speech.warm,
    /** A text in the bot's voice, at this rate. */
    speak: (text: string, sampleRate: number) => soundOf(speech, text, botVoice, sampleRate),
    /** What a listener understands of what was played. */
    transcribe: (frames: readonly AudioFrame[]) =>
      speech.recognizer.recognize(toFloat32(resampled(frames)), { final: true }),
    async close() {
      await speech.close();
      remove();
    },
  };
}

const drop = () => undefined;
const silent: Logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => silent };

async function soundOf(
  speech: SpeechParts,
  text: string,
  voice: string,
  sampleRate = rate,
): Promise<Int16Array> {
  const frames: AudioFrame[] = [];
  for await (const frame of speech.synthesizer.speak({ text, voice })) frames.push(frame);
  return resampled(frames, sampleRate);
}

/** What was said to the end once is not worked out again: the voice says it the same way each time. */
function rememberSpeech(speech: SpeechParts): SpeechParts {
  const said = new Map<string, readonly AudioFrame[]>();
  const { synthesizer } = speech;
  return {
    ...speech,
    synthesizer: {
      ...synthesizer,
      async *speak(request) {
        const { text, voice, lang, backend, background = false, signal } = request;
        const key = JSON.stringify([text, voice, lang, backend]);
        const frames: AudioFrame[] = [];
        for await (const frame of said.get(key) ?? synthesizer.speak(request)) {
          signal?.throwIfAborted();
          frames.push(frame);
          yield { ...frame, samples: frame.samples.slice() };
        }
        // Background work may give no sound.
        if (!background) said.set(key, frames);
      },
    },
  };
}

function resampled(frames: readonly AudioFrame[], sampleRate = rate): Int16Array {
  const resampler = new StreamResampler(sampleRate);
  const parts = frames.map((frame) => resampler.push(frame).samples);
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The models take no time on the case's clock: it stands still while one is at work. */
function countedVoices(speech: SpeechParts, caller: Pick<Voices['sounds'], 'speech' | 'recorded'>): Voices {
  let busy = 0;
  const counted = async <Value>(work: Promise<Value>): Promise<Value> => {
    busy += 1;
    try {
      return await work;
    } finally {
      busy -= 1;
    }
  };
  return {
    speech: {
      ...speech,
      recognizer: {
        ...speech.recognizer,
        recognize: (samples, options) => counted(speech.recognizer.recognize(samples, options)),
      },
      synthesizer: {
        ...speech.synthesizer,
        async *speak(request) {
          const frames = speech.synthesizer.speak(request)[Symbol.asyncIterator]();
          for (let next = await counted(frames.next()); !next.done; next = await counted(frames.next()))
            yield next.value;
        },
      },
      openDetector: async () => {
        const detector = await speech.openDetector();
        return { ...detector, accept: (samples) => counted(detector.accept(samples)) };
      },
      openTurnDetector: async (language) => {
        const detector = await speech.openTurnDetector(language);
        return detector && { judge: (...heard) => counted(detector.judge(...heard)) };
      },
    },
    sounds: {
      ...caller,
      cough: (ms) => rustle(ms, 6000),
      noise: (ms) => rustle(ms, 250),
      silence: (ms) => rustle(ms, 0),
    },
    async settle() {
      while (busy > 0) await delay(1);
    },
    close: async () => undefined,
  };
}

/** Noise of a level, swelling and fading like a cough does. */
function rustle(ms: number, level: number): Int16Array {
  const length = (ms * rate) / 1000;
  let seed = 7;
  return Int16Array.from({ length }, (_, index) => {
    seed = (seed * 16_807) % 2_147_483_647;
    const swell = level > 1000 ? Math.sin((Math.PI * index) / length) : 1;
    return level * swell * ((2 * seed) / 2_147_483_647 - 1);
  });
}
