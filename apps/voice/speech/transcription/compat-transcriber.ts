import { z } from 'zod';
import type { Transcriber } from './transcriber.ts';

export interface CompatTranscriberOptions {
  /** Base address, as a rule one that ends in /v1. */
  url: string | undefined;
  model: string;
  apiKey: string | undefined;
  timeoutMs?: number;
}

const answerSchema = z.object({ text: z.string() });

/** Transcribes by an OpenAI-compatible endpoint. */
export function createCompatTranscriber(options: CompatTranscriberOptions): Transcriber {
  return {
    backend: 'compat',
    async transcribe({ bytes, name }, signal) {
      const { url } = options;
      if (url === undefined) throw new Error('set STT_URL to the address of a transcription endpoint');
      const form = new FormData();
      form.set('model', options.model);
      form.set('file', new Blob([Uint8Array.from(bytes)]), name);
      const parsed = answerSchema.safeParse(await post(url, form, options, signal));
      if (!parsed.success) throw new Error('the answer of the transcription endpoint is not understood');
      return parsed.data.text.trim();
    },
  };
}

async function post(
  url: string,
  form: FormData,
  { apiKey, timeoutMs = 120_000 }: CompatTranscriberOptions,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const limit = AbortSignal.timeout(timeoutMs);
  const response = await fetch(`${url.replace(/\/+$/, '')}/audio/transcriptions`, {
    method: 'POST',
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body: form,
    signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new Error('the transcription endpoint does not answer; check STT_URL', { cause });
  });
  if (!response.ok) throw new Error(`the transcription endpoint answered ${response.status}`);
  return response.json();
}
