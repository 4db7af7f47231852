import { group, integer, type OptionsOf, type OptionTable, text, url } from '@trunkline/config';
import { z } from 'zod';
import { bytesOf } from '../audio/samples.ts';
import { encodeWav, readSamples } from '../audio/wav.ts';
import { accept, SpeechEndpoint } from '../endpoint.ts';
import { SpeechError } from '../speech-error.ts';
import { type Synthesizer, withoutProsody } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import { type BackendRecognition, defineSpeechBackend, type SpeechFile } from './definition.ts';

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
  recognition: { create: (values) => createCompatRecognition(values) },
});

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
const limits = { live: 15_000, file: 120_000 };
const rate = 16_000;
const answerSchema = z.object({ text: z.string() });

interface TranscriptionRequest {
  timeoutMs: number;
  language?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends a WAV file of each piece of speech, and uploaded files as they are. */
export function createCompatRecognition(values: CompatOptions, timeouts = limits): BackendRecognition {
  const transcribe = async (
    { bytes, name }: SpeechFile,
    { timeoutMs, signal, language = values.sttLanguage }: TranscriptionRequest,
  ) => {
    const endpoint = transcriptionEndpoint(values, timeoutMs);
    const form = new FormData();
    form.set('model', values.sttModel);
    if (language !== undefined) form.set('language', language);
    form.set('file', new Blob([Uint8Array.from(bytes)]), name);
    const response = await endpoint.send('/audio/transcriptions', { body: form, signal });
    const accepted = await accept(response, `the transcription endpoint answered ${response.status}`);
    return (await endpoint.read(accepted, answerSchema, signal)).text.trim();
  };
  return {
    isCostly: true,
    transcribe(samples, { language, signal }) {
      const file = { bytes: encodeWav(bytesOf(samples), rate), name: 'speech.wav' };
      return transcribe(file, { timeoutMs: timeouts.live, language, signal });
    },
    transcribeFile: (file, signal) => transcribe(file, { timeoutMs: timeouts.file, signal }),
  };
}

function transcriptionEndpoint({ sttUrl, sttApiKey }: CompatOptions, timeoutMs: number): SpeechEndpoint {
  if (sttUrl === undefined)
    throw new SpeechError('missing', 'set STT_URL to the address of a transcription endpoint');
  return new SpeechEndpoint({
    url: sttUrl,
    ...(sttApiKey !== undefined && { headers: { authorization: `Bearer ${sttApiKey}` } }),
    timeoutMs,
    texts: {
      timeout: `the transcription endpoint took longer than ${timeoutMs / 1000} s`,
      unreachable: 'the transcription endpoint does not answer; check STT_URL',
      unreadable: 'the answer of the transcription endpoint is not understood',
    },
  });
}
