import { z } from 'zod';
import { SpeechError } from '../speech-error.ts';

export interface CompatTranscriptionOptions {
  /** Base address, as a rule one that ends in /v1. */
  url: string | undefined;
  model: string;
  apiKey: string | undefined;
  timeoutMs?: number;
}

/** A file with speech. */
export interface SpeechFile {
  bytes: Uint8Array;
  /** As the uploader calls it; endpoints tell the format by it. */
  name: string;
}

const answerSchema = z.object({ text: z.string() });

/** Has a file transcribed by an OpenAI-compatible endpoint. */
export async function transcribeFile(
  { bytes, name }: SpeechFile,
  options: CompatTranscriptionOptions,
  signal: AbortSignal | undefined,
): Promise<string> {
  const form = new FormData();
  form.set('model', options.model);
  form.set('file', new Blob([Uint8Array.from(bytes)]), name);
  const parsed = answerSchema.safeParse(await post(form, options, signal));
  if (!parsed.success)
    throw new SpeechError('unreadable', 'the answer of the transcription endpoint is not understood');
  return parsed.data.text.trim();
}

async function post(
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
    throw explain(error, signal, timeoutMs);
  }
}

/** The caller's own abort stays what it is. */
function explain(error: unknown, signal: AbortSignal | undefined, timeoutMs: number): unknown {
  if (signal?.aborted || error instanceof SpeechError) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    const words = `the transcription endpoint took longer than ${timeoutMs / 1000} s`;
    return new SpeechError('timeout', words, { cause: error });
  }
  if (error instanceof SyntaxError)
    return new SpeechError('unreadable', 'the answer of the transcription endpoint is not understood', {
      cause: error,
    });
  return new SpeechError('unreachable', 'the transcription endpoint does not answer; check STT_URL', {
    cause: error,
  });
}
