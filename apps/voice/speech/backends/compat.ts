import { group, integer, text, url } from '@trunkline/config';
import { z } from 'zod';
import { bytesOf } from '../audio/samples.ts';
import { alignSamples, encodeWav, readSamples, typeOfWords } from '../audio/wav.ts';
import { SpeechError } from '../speech-error.ts';
import { type SpeechRequest, type Synthesizer, withoutProsody } from '../synthesis/synthesizer.ts';
import type { SpeechWarnings } from '../warnings.ts';
import { type BackendRecognition, defineSpeechBackend, type SpeechFile } from './definition.ts';

/** Speaks and listens by OpenAI-compatible endpoints. */
export const compat = defineSpeechBackend({
  name: 'compat',
  options: {
    ...group('Speech recognition', {
      sttUrl: url({ env: 'STT_URL', doc: 'Base address of a compatible transcription endpoint.' }),
      sttModel: text({ env: 'STT_MODEL', default: 'whisper-1', doc: 'Model of that endpoint.' }),
      sttApiKey: text({ env: 'STT_API_KEY', secret: true, doc: 'Key of that endpoint.' }),
    }),
    ...group('Speech output', {
      ttsCompatUrl: url({
        env: 'TTS_COMPAT_URL',
        default: 'https://api.openai.com/v1',
        doc: 'Base address of a compatible speech endpoint.',
      }),
      ttsCompatModel: text({ env: 'TTS_COMPAT_MODEL', default: 'tts-1', doc: 'Model of that endpoint.' }),
      ttsCompatVoice: text({ env: 'TTS_COMPAT_VOICE', default: 'alloy', doc: 'Voice of that endpoint.' }),
      ttsCompatApiKey: text({
        env: 'TTS_COMPAT_API_KEY',
        secret: true,
        default: 'not-needed',
        doc: 'Key of that endpoint.',
      }),
      ttsCompatSampleRate: integer({
        env: 'TTS_COMPAT_SAMPLE_RATE',
        default: 24_000,
        min: 8000,
        max: 192_000,
        doc: 'Samples a second that the endpoint gives.',
      }),
    }),
  },
  synthesis: {
    isRemote: true,
    // An endpoint that nobody chose gets no text.
    isFallback: false,
    clonesVoices: false,
    create: (options, { warnings }) => ({
      synthesizers: [
        createCompatSynthesizer({
          url: options.ttsCompatUrl,
          model: options.ttsCompatModel,
          voice: options.ttsCompatVoice,
          apiKey: options.ttsCompatApiKey,
          sampleRate: options.ttsCompatSampleRate,
          warnings,
        }),
      ],
    }),
  },
  recognition: {
    create: ({ sttUrl, sttModel, sttApiKey }) =>
      createCompatRecognition({ url: sttUrl, model: sttModel, apiKey: sttApiKey }),
  },
});

interface CompatSynthesizerOptions {
  /** Base address, as a rule one that ends in /v1. */
  url: string;
  model: string;
  voice: string;
  apiKey: string;
  /** As the endpoint claims it; raw samples do not say. */
  sampleRate: number;
  warnings: SpeechWarnings;
  timeoutMs?: number;
}

/** Speech comes as raw samples while it is made. */
export function createCompatSynthesizer(options: CompatSynthesizerOptions): Synthesizer {
  return {
    backend: 'compat',
    async *speak({ text, voice = options.voice, signal }) {
      const request = { text: withoutProsody(text), signal };
      const response = await ask(options, { ...request, voice });
      try {
        yield* readSamples(alignSamples(await soundOf(response)), options.sampleRate);
      } catch (error) {
        throw explainSpeech(error, options, signal);
      }
    },
    close: async () => undefined,
  };
}

async function soundOf(response: Response): Promise<AsyncIterable<Uint8Array>> {
  const type = typeOfWords(response);
  if (type === undefined && response.body !== null) return response.body;
  await response.body?.cancel();
  const message = `the speech endpoint answered with ${type ?? 'nothing'} instead of sound; check TTS_COMPAT_URL`;
  throw new SpeechError('unreadable', message);
}

/** A voice that the endpoint refuses is replaced by the configured one. */
async function ask(options: CompatSynthesizerOptions, request: SpeechRequest): Promise<Response> {
  const response = await requestSpeech(options, request);
  if (response.ok) return response;
  await response.body?.cancel();
  const isRefused = response.status === 400 || response.status === 404 || response.status === 422;
  if (!isRefused || request.voice === options.voice) throw refusal(response.status);
  const standard = await requestSpeech(options, { ...request, voice: options.voice });
  if (!standard.ok) {
    await standard.body?.cancel();
    throw refusal(standard.status);
  }
  const message = `The speech endpoint has no voice ${request.voice}; ${options.voice} speaks instead.`;
  options.warnings.report(`compat voice ${request.voice}`, message);
  return standard;
}

async function requestSpeech(
  options: CompatSynthesizerOptions,
  { text, voice, signal }: SpeechRequest,
): Promise<Response> {
  const { url, model, apiKey, timeoutMs = 60_000 } = options;
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(`${url.replace(/\/+$/, '')}/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, voice, input: text, response_format: 'pcm' }),
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
  } catch (error) {
    throw explainSpeech(error, options, signal);
  }
}

function refusal(status: number): SpeechError {
  const advice =
    status === 401 || status === 403
      ? 'check TTS_COMPAT_API_KEY'
      : 'check TTS_COMPAT_URL and TTS_COMPAT_MODEL';
  return new SpeechError('refused', `the speech endpoint answered ${status}; ${advice}`);
}

/** The caller's own abort stays what it is. */
function explainSpeech(
  error: unknown,
  { timeoutMs = 60_000 }: CompatSynthesizerOptions,
  signal: AbortSignal | undefined,
) {
  if (signal?.aborted || error instanceof SpeechError) return error;
  if (error instanceof Error && error.name === 'TimeoutError')
    return new SpeechError('timeout', `the speech endpoint took longer than ${timeoutMs / 1000} s`, {
      cause: error,
    });
  return new SpeechError('unreachable', 'the speech endpoint does not answer; check TTS_COMPAT_URL', {
    cause: error,
  });
}

interface CompatTranscriptionOptions {
  /** Base address, as a rule one that ends in /v1. */
  url: string | undefined;
  model: string;
  apiKey: string | undefined;
  timeoutMs?: number;
}

/** A caller waits for it, so a slow endpoint is given up sooner than for a file. */
const liveTimeoutMs = 15_000;
const rate = 16_000;

/** The endpoint gets a WAV file of each piece of speech, and uploaded files as they are. */
export function createCompatRecognition(options: CompatTranscriptionOptions): BackendRecognition {
  return {
    transcribe(samples, { signal }) {
      const file = { bytes: encodeWav(bytesOf(samples), rate), name: 'speech.wav' };
      return transcribeFile(file, { timeoutMs: liveTimeoutMs, ...options }, signal);
    },
    transcribeFile: (file, signal) => transcribeFile(file, options, signal),
  };
}

const answerSchema = z.object({ text: z.string() });

async function transcribeFile(
  { bytes, name }: SpeechFile,
  options: CompatTranscriptionOptions,
  signal: AbortSignal | undefined,
): Promise<string> {
  const form = new FormData();
  form.set('model', options.model);
  form.set('file', new Blob([Uint8Array.from(bytes)]), name);
  const parsed = answerSchema.safeParse(await requestTranscription(form, options, signal));
  if (!parsed.success)
    throw new SpeechError('unreadable', 'the answer of the transcription endpoint is not understood');
  return parsed.data.text.trim();
}

async function requestTranscription(
  form: FormData,
  { url, apiKey, timeoutMs = 120_000 }: CompatTranscriptionOptions,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (url === undefined)
    throw new SpeechError('missing', 'set STT_URL to the address of a transcription endpoint');
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/audio/transcriptions`, {
      method: 'POST',
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      body: form,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
    if (response.ok) return await response.json();
    await response.body?.cancel();
    throw new SpeechError('refused', `the transcription endpoint answered ${response.status}`);
  } catch (error) {
    throw explainTranscription(error, signal, timeoutMs);
  }
}

/** The caller's own abort stays what it is. */
function explainTranscription(error: unknown, signal: AbortSignal | undefined, timeoutMs: number): unknown {
  if (signal?.aborted || error instanceof SpeechError) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    const message = `the transcription endpoint took longer than ${timeoutMs / 1000} s`;
    return new SpeechError('timeout', message, { cause: error });
  }
  if (error instanceof SyntaxError)
    return new SpeechError('unreadable', 'the answer of the transcription endpoint is not understood', {
      cause: error,
    });
  return new SpeechError('unreachable', 'the transcription endpoint does not answer; check STT_URL', {
    cause: error,
  });
}
