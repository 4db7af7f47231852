import { isCutConnection, limitBody } from '@trunkline/std';
import type { z } from 'zod';
import { alignSamples } from './audio/wav.ts';
import { SpeechError } from './speech-error.ts';

export interface EndpointOptions {
  url: string;
  headers?: Record<string, string>;
  /** Limit of one call, a whole stream of speech included. */
  timeoutMs: number;
  /** What errors say. */
  texts: { timeout: string; unreachable: string; unreadable: string };
  /** Reads a body that is not JSON. */
  decode?(bytes: ArrayBuffer): Promise<unknown>;
}

/** Of an answer that is no sound: more than a transcript of hours. */
const longestAnswer = 16 * 2 ** 20;

interface Call {
  method?: 'GET' | 'POST';
  /** A file, a form, or what becomes JSON. */
  body?: Uint8Array<ArrayBuffer> | FormData | object;
  signal?: AbortSignal | undefined;
}

/** An HTTP service that speaks or listens. Failures become `SpeechError`s; the caller's own abort stays what it is. */
export class SpeechEndpoint {
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Sends a request, once more where the connection was cut; the caller checks the status of the answer. */
  send(path: string, { method = 'POST', body, signal }: Call): Promise<Response> {
    const { url, headers, timeoutMs } = this.#options;
    const limit = AbortSignal.timeout(timeoutMs);
    const isReady = body instanceof FormData || body instanceof Uint8Array;
    const request = () =>
      fetch(`${url.replace(/\/+$/, '')}${path}`, {
        method,
        headers: { ...headers, ...(body && !isReady && { 'content-type': 'application/json' }) },
        ...(body && { body: isReady ? body : JSON.stringify(body) }),
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
    // To speak or to listen twice does no harm.
    const answer = request().catch((error: unknown) => {
      if (!isCutConnection(error)) throw error;
      return request();
    });
    return this.#explained(answer, signal);
  }

  async read<Schema extends z.ZodType>(
    response: Response,
    schema: Schema,
    signal: AbortSignal | undefined,
  ): Promise<z.output<Schema>> {
    const { decode, texts } = this.#options;
    const tooLarge = () => new SpeechError('unreadable', `${texts.unreadable}: it is larger than 16 MB`);
    const limited = limitBody(response, { maxBytes: longestAnswer, tooLarge });
    const bytes = await this.#explained(limited.arrayBuffer(), signal);
    const isJson = response.headers.get('content-type')?.includes('json') || decode === undefined;
    try {
      return schema.parse(isJson ? JSON.parse(new TextDecoder().decode(bytes)) : await decode(bytes));
    } catch (cause) {
      throw new SpeechError('unreadable', texts.unreadable, { cause });
    }
  }

  /** The body as 16-bit samples; every chunk holds whole ones. Text instead of sound is refused with `noSound`. */
  async *sound(
    response: Response,
    noSound: (type: string) => string,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array, void> {
    const { body, headers } = response;
    const [type = ''] = headers.get('content-type')?.split(';') ?? [];
    const isText = /^text\/|json|xml/.test(type);
    if (isText || body === null) {
      await body?.cancel();
      throw new SpeechError('unreadable', noSound(isText ? type : 'nothing'));
    }
    try {
      yield* alignSamples(body);
    } catch (error) {
      throw this.#explain(error, signal);
    }
  }

  async #explained<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
    try {
      return await work;
    } catch (error) {
      throw this.#explain(error, signal);
    }
  }

  #explain(cause: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted || cause instanceof SpeechError) return cause;
    const { timeout, unreachable } = this.#options.texts;
    return cause instanceof Error && cause.name === 'TimeoutError'
      ? new SpeechError('timeout', timeout, { cause })
      : new SpeechError('unreachable', unreachable, { cause });
  }
}

/** The answer, if its status is a success; else the body is dropped and the error thrown. */
export async function accept(response: Response, message: string): Promise<Response> {
  if (response.ok) return response;
  await response.body?.cancel();
  throw new SpeechError('refused', message);
}
