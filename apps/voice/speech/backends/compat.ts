import { choice, group, integer, type OptionsOf, type OptionTable, text, url } from '@trunkline/config';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { bytesOf } from '../audio/samples.ts';
import { encodeWav, readSamples } from '../audio/wav.ts';
import { accept, SpeechEndpoint } from '../endpoint.ts';
import { deepgramHeaders, deepgramQuery, deepgramWire } from '../recognition/live/deepgram-wire.ts';
import { type LiveLimits, probeLive } from '../recognition/live/live-connection.ts';
import { createLiveRecognition, type LiveRecognition } from '../recognition/live/live-recognition.ts';
import { bearerHeaders, realtimeWire } from '../recognition/live/realtime-wire.ts';
import { SpeechError } from '../speech-error.ts';
import { type Synthesizer, withoutProsody } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import {
  type BackendRecognition,
  defineSpeechBackend,
  type RecognitionLimits,
  type SpeechFile,
} from './definition.ts';

/** For backends that know many languages. */
export const languageOption = {
  sttLanguage: text({
    env: 'STT_LANGUAGE',
    doc: 'With STT_BACKEND=compat or whisper: language of the speech, such as de or pt, for skills that name none; left out, it is found out.',
  }),
};

const options = {
  ...group('Speech recognition', {
    sttUrl: url({
      env: 'STT_URL',
      doc: 'With STT_BACKEND=compat: address of an OpenAI-compatible transcription endpoint.',
    }),
    sttModel: text({ env: 'STT_MODEL', default: 'whisper-1', doc: 'Transcription model at STT_URL.' }),
    sttApiKey: text({ env: 'STT_API_KEY', secret: true, doc: 'API key for STT_URL.' }),
    sttStreaming: choice({
      env: 'STT_STREAMING',
      values: ['off', 'realtime', 'deepgram', 'auto'],
      default: 'off',
      doc: 'With STT_BACKEND=compat: send speech while it is spoken, over a WebSocket at STT_URL: realtime (transcription sessions as OpenAI has them, at /realtime), deepgram (as Deepgram has it, at /listen) or auto (tries both). Where the connection fails, and with off, whole utterances are sent.',
    }),
    ...languageOption,
  }),
  ...group('Speech output', {
    ttsCompatUrl: url({
      env: 'TTS_COMPAT_URL',
      default: 'https://api.openai.com/v1',
      doc: 'With TTS_BACKEND=compat: address of an OpenAI-compatible speech endpoint.',
    }),
    ttsCompatModel: text({
      env: 'TTS_COMPAT_MODEL',
      default: 'tts-1',
      doc: 'Speech model at TTS_COMPAT_URL.',
    }),
    ttsCompatVoice: text({ env: 'TTS_COMPAT_VOICE', default: 'alloy', doc: 'Voice at TTS_COMPAT_URL.' }),
    ttsCompatApiKey: text({
      env: 'TTS_COMPAT_API_KEY',
      secret: true,
      default: 'not-needed',
      doc: 'API key for TTS_COMPAT_URL.',
    }),
    ttsCompatSampleRate: integer({
      env: 'TTS_COMPAT_SAMPLE_RATE',
      default: 24_000,
      min: 8000,
      max: 192_000,
      doc: "Sample rate of that endpoint's audio in Hz.",
    }),
  }),
};

type CompatOptions = OptionsOf<OptionTable<typeof options>>;

/** Speaks and listens by OpenAI-compatible endpoints. */
export const compat = defineSpeechBackend({
  name: 'compat',
  options,
  synthesis: {
    isRemote: true,
    // Text goes only to an endpoint that somebody chose.
    isFallback: false,
    clonesVoices: false,
    create: (values, { warnings }) => ({ synthesizers: [createCompatSynthesizer(values, warnings)] }),
  },
  recognition: {
    create: (values, { warnings, recognitionLimits }) =>
      createCompatRecognition(values, warnings, recognitionLimits),
  },
  diagnose: (values, isChosen) => diagnoseStreaming(values, isChosen),
});

async function diagnoseStreaming(values: CompatOptions, isChosen: boolean): Promise<Diagnosis[]> {
  const { sttStreaming, sttUrl: url, sttApiKey: apiKey, sttModel: model } = values;
  if (!isChosen || sttStreaming === 'off' || url === undefined) return [];
  const subject = 'live transcription';
  try {
    const { name } = await probeLive({ url, apiKey, model }, wires[sttStreaming]);
    return [{ subject, state: 'ok', words: `STT_URL opens a connection (${name}).` }];
  } catch (error) {
    const words = `${errorMessage(error)}.`;
    const advice = 'Until then whole utterances are sent, which takes longer.';
    return [{ subject, state: 'warning', words, advice }];
  }
}

/** Speaks as the endpoint gives raw samples. A voice that it refuses is replaced by the configured one. */
export function createCompatSynthesizer(
  values: CompatOptions,
  warnings: SpeechWarnings,
  timeoutMs = 60_000,
): Synthesizer {
  const { ttsCompatModel: model, ttsCompatVoice: standard } = values;
  const endpoint = new SpeechEndpoint({
    url: values.ttsCompatUrl,
    headers: { authorization: `Bearer ${values.ttsCompatApiKey}` },
    timeoutMs,
    texts: {
      timeout: `the speech endpoint took longer than ${timeoutMs / 1000} s`,
      unreachable: 'the speech endpoint does not answer; check TTS_COMPAT_URL',
      unreadable: 'the answer of the speech endpoint is not understood',
    },
  });
  const ask = (input: string, voice: string, signal: AbortSignal | undefined) =>
    endpoint.send('/audio/speech', { body: { model, voice, input, response_format: 'pcm' }, signal });
  return {
    backend: 'compat',
    async *speak({ text, voice = standard, signal }) {
      const input = withoutProsody(text);
      let response = await ask(input, voice, signal);
      if ([400, 404, 422].includes(response.status) && voice !== standard) {
        await response.body?.cancel();
        response = await ask(input, standard, signal);
        const message = `The speech endpoint has no voice ${voice}; ${standard} speaks instead.`;
        if (response.ok) warnings.report(`compat voice ${voice}`, message);
      }
      const accepted = await accept(response, refusal(response.status));
      yield* readSamples(endpoint.sound(accepted, noSound, signal), values.ttsCompatSampleRate);
    },
  };
}

function refusal(status: number): string {
  const variables =
    status === 401 || status === 403 ? 'TTS_COMPAT_API_KEY' : 'TTS_COMPAT_URL and TTS_COMPAT_MODEL';
  return `the speech endpoint answered ${status}; check ${variables}`;
}

function noSound(type: string): string {
  return `the speech endpoint answered with ${type} instead of sound; check TTS_COMPAT_URL`;
}

/** Milliseconds; a caller waits less long than an upload. */
const limits: RecognitionLimits = { live: 15_000, file: 120_000 };
const rate = 16_000;
const answerSchema = z.object({ text: z.string() });
const deepgramSchema = z.object({
  results: z.object({
    channels: z.array(z.object({ alternatives: z.array(z.object({ transcript: z.string() })) })),
  }),
});

interface TranscriptionRequest {
  timeoutMs: number;
  language?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends speech while it is spoken, or a WAV file of each piece of it, and uploaded files as they are. */
export function createCompatRecognition(
  values: CompatOptions,
  warnings: SpeechWarnings,
  timeouts = limits,
): BackendRecognition {
  const streaming = createStreaming(values, warnings, timeouts.streaming);
  const transcribe = async (
    { bytes, name }: SpeechFile,
    { timeoutMs, signal, language = values.sttLanguage }: TranscriptionRequest,
  ) => {
    const isDeepgram = streaming?.wire === 'deepgram';
    const endpoint = transcriptionEndpoint(values, timeoutMs, isDeepgram);
    const message = (status: number) => `the transcription endpoint answered ${status}`;
    if (isDeepgram) {
      const path = `/listen?${deepgramQuery({ model: values.sttModel, language })}`;
      const response = await endpoint.send(path, { body: Uint8Array.from(bytes), signal });
      const accepted = await accept(response, message(response.status));
      const { results } = await endpoint.read(accepted, deepgramSchema, signal);
      return results.channels[0]?.alternatives[0]?.transcript.trim() ?? '';
    }
    const form = new FormData();
    form.set('model', values.sttModel);
    if (language !== undefined) form.set('language', language);
    form.set('file', new Blob([Uint8Array.from(bytes)]), name);
    const response = await endpoint.send('/audio/transcriptions', { body: form, signal });
    const accepted = await accept(response, message(response.status));
    return (await endpoint.read(accepted, answerSchema, signal)).text.trim();
  };
  return {
    isCostly: true,
    isMultilingual: values.sttLanguage === undefined,
    transcribe(samples, { language, signal }) {
      const file = { bytes: encodeWav(bytesOf(samples), rate), name: 'speech.wav' };
      return transcribe(file, { timeoutMs: timeouts.live, language, signal });
    },
    transcribeFile: (file, signal) => transcribe(file, { timeoutMs: timeouts.file, signal }),
    ...(streaming !== undefined && {
      listen: ({ language = values.sttLanguage, ...options }) => streaming.listen({ ...options, language }),
      close: async () => streaming.close(),
    }),
  };
}

const wires = {
  off: [],
  realtime: [realtimeWire],
  deepgram: [deepgramWire],
  auto: [realtimeWire, deepgramWire],
};

function createStreaming(
  { sttStreaming, sttUrl: url, sttApiKey: apiKey, sttModel: model }: CompatOptions,
  warnings: SpeechWarnings,
  streamingLimits: LiveLimits | undefined,
): LiveRecognition | undefined {
  if (sttStreaming === 'off' || url === undefined) return undefined;
  const settings = { url, apiKey, model, limits: streamingLimits };
  return createLiveRecognition({ ...settings, wires: wires[sttStreaming], warnings });
}

function transcriptionEndpoint(
  { sttUrl, sttApiKey }: CompatOptions,
  timeoutMs: number,
  isDeepgram: boolean,
): SpeechEndpoint {
  if (sttUrl === undefined)
    throw new SpeechError('missing', 'set STT_URL to the address of a transcription endpoint');
  const headers = isDeepgram
    ? { ...deepgramHeaders(sttApiKey), 'content-type': 'audio/*' }
    : bearerHeaders(sttApiKey);
  return new SpeechEndpoint({
    url: sttUrl,
    headers,
    timeoutMs,
    texts: {
      timeout: `the transcription endpoint took longer than ${timeoutMs / 1000} s`,
      unreachable: 'the transcription endpoint does not answer; check STT_URL',
      unreadable: 'the answer of the transcription endpoint is not understood',
    },
  });
}
