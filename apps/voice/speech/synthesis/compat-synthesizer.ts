import { readSamples, typeOfWords } from '../audio/sample-stream.ts';
import type { Notices } from '../notices.ts';
import { alignSamples } from '../sidecar/carry.ts';
import { SpeechError } from '../speech-error.ts';
import { withoutProsody } from './prosody.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

interface CompatSynthesizerOptions {
  /** Base address, as a rule one that ends in /v1. */
  url: string;
  model: string;
  voice: string;
  apiKey: string;
  /** As the endpoint claims it; raw samples do not say. */
  sampleRate: number;
  notices: Notices;
  timeoutMs?: number;
}

/** Speaks by an OpenAI-compatible endpoint, in raw samples as they are made. */
export function createCompatSynthesizer(options: CompatSynthesizerOptions): Synthesizer {
  return {
    backend: 'compat',
    async *speak({ text, voice = options.voice, signal }) {
      const request = { text: withoutProsody(text), signal };
      const response = await ask(options, { ...request, voice });
      try {
        yield* readSamples(alignSamples(await soundOf(response)), options.sampleRate);
      } catch (error) {
        throw explain(error, options, signal);
      }
    },
    close: async () => undefined,
  };
}

async function soundOf(response: Response): Promise<AsyncIterable<Uint8Array>> {
  const type = typeOfWords(response);
  if (type === undefined && response.body !== null) return response.body;
  await response.body?.cancel();
  const words = `the speech endpoint answered with ${type ?? 'nothing'} instead of sound; check TTS_COMPAT_URL`;
  throw new SpeechError('unreadable', words);
}

/** A voice that the endpoint refuses is replaced by the configured one. */
async function ask(options: CompatSynthesizerOptions, request: SpeechRequest): Promise<Response> {
  const response = await post(options, request);
  if (response.ok) return response;
  await response.body?.cancel();
  const isRefused = response.status === 400 || response.status === 404 || response.status === 422;
  if (!isRefused || request.voice === options.voice) throw refusal(response.status);
  const standard = await post(options, { ...request, voice: options.voice });
  if (!standard.ok) {
    await standard.body?.cancel();
    throw refusal(standard.status);
  }
  const words = `The speech endpoint has no voice ${request.voice}; ${options.voice} speaks instead.`;
  options.notices.tell(`compat voice ${request.voice}`, words);
  return standard;
}

async function post(
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
    throw explain(error, options, signal);
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
function explain(
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
