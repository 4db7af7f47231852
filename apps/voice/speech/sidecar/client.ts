import { z } from 'zod';
import { alignSamples } from './carry.ts';
import { type Sidecar, SidecarError } from './sidecar.ts';

export interface SidecarClientOptions {
  url: string;
  /** Limit of one call, a whole stream of speech included. */
  timeoutMs: number;
}

interface Call {
  method?: 'GET' | 'POST';
  path: string;
  body?: FormData | object;
  signal: AbortSignal | undefined;
}

const listSchema = z.object({ reference_ids: z.array(z.string()) });
const outcomeSchema = z.looseObject({ success: z.boolean().optional(), message: z.string().optional() });

/** Speaks to the sidecar over HTTP. Its answers are MessagePack or JSON, whichever it gives. */
export function createSidecarClient(options: SidecarClientOptions): Sidecar {
  return {
    async *speak({ text, referenceId, signal }) {
      const body = {
        text,
        format: 'wav',
        streaming: true,
        ...(referenceId && { reference_id: referenceId }),
      };
      const response = await accepted(options, { path: '/v1/tts', body, signal });
      yield* alignSamples(explained(bodyOf(response), options, signal));
    },
    async listReferences(signal) {
      const response = await requestList(options, signal);
      return (await read(response, listSchema, options, signal)).reference_ids;
    },
    async addReference({ id, audio, text }, signal) {
      const body = new FormData();
      body.set('id', id);
      body.set('text', text);
      body.set('audio', new Blob([Uint8Array.from(audio)]), id);
      await change(options, { path: '/v1/references/add', body, signal });
    },
    async deleteReference(id, signal) {
      await change(options, { path: '/v1/references/delete', body: { reference_id: id }, signal });
    },
  };
}

/** Newer sidecars take GET, older ones POST. */
async function requestList(
  options: SidecarClientOptions,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const path = '/v1/references/list';
  const response = await send(options, { method: 'GET', path, signal });
  if (response.status !== 404 && response.status !== 405) return accept(response, path);
  await response.body?.cancel();
  return accepted(options, { path, body: {}, signal });
}

async function change(options: SidecarClientOptions, call: Call): Promise<void> {
  const response = await accepted(options, call);
  const { success, message } = await read(response, outcomeSchema, options, call.signal);
  if (success === false)
    throw new SidecarError('refused', `The sidecar refused: ${message ?? 'it does not say why'}.`);
}

async function accepted(options: SidecarClientOptions, call: Call): Promise<Response> {
  return accept(await send(options, call), call.path);
}

async function accept(response: Response, path: string): Promise<Response> {
  if (response.ok) return response;
  await response.body?.cancel();
  throw new SidecarError('refused', `The sidecar answered ${response.status} to ${path}.`);
}

async function send(
  options: SidecarClientOptions,
  { method = 'POST', path, body, signal }: Call,
): Promise<Response> {
  const limit = AbortSignal.timeout(options.timeoutMs);
  const isForm = body instanceof FormData;
  try {
    return await fetch(`${options.url.replace(/\/+$/, '')}${path}`, {
      method,
      // Without this header it answers in MessagePack.
      headers: { accept: 'application/json', ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
  } catch (error) {
    throw explain(error, options, signal);
  }
}

async function* explained(
  chunks: AsyncIterable<Uint8Array>,
  options: SidecarClientOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw explain(error, options, signal);
  }
}

function bodyOf(response: Response): AsyncIterable<Uint8Array> {
  if (response.body === null) throw new SidecarError('unreadable', 'The sidecar answered without sound.');
  return response.body;
}

async function read<Schema extends z.ZodType>(
  response: Response,
  schema: Schema,
  options: SidecarClientOptions,
  signal: AbortSignal | undefined,
): Promise<z.output<Schema>> {
  const bytes = await response.arrayBuffer().catch((error: unknown) => {
    throw explain(error, options, signal);
  });
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  try {
    return schema.parse(isJson ? JSON.parse(new TextDecoder().decode(bytes)) : await unpack(bytes));
  } catch (cause) {
    throw new SidecarError('unreadable', "The sidecar's answer is not understood.", { cause });
  }
}

async function unpack(bytes: ArrayBuffer): Promise<unknown> {
  const { decode } = await import('@msgpack/msgpack');
  return decode(bytes);
}

/** The caller's own abort stays what it is. */
function explain(error: unknown, { url, timeoutMs }: SidecarClientOptions, given: AbortSignal | undefined) {
  if (given?.aborted || error instanceof SidecarError) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    const words = `The sidecar took longer than ${timeoutMs / 1000} s; raise SIDECAR_TIMEOUT.`;
    return new SidecarError('timeout', words, { cause: error });
  }
  return new SidecarError('unreachable', `No sidecar answers at ${url}; check SIDECAR_URL.`, {
    cause: error,
  });
}
