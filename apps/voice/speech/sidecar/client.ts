import { decodePercent } from '@trunkline/config';
import { z } from 'zod';
import { alignSamples, typeOfWords } from '../audio/wav.ts';

export interface SidecarClientOptions {
  /** May hold a user name and a password. */
  url: string;
  /** Limit of one call, a whole stream of speech included. */
  timeoutMs: number;
}

/** The way to the sidecar; its address can be shown to everyone. */
interface Access {
  url: string;
  authorization: string | undefined;
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
  const access = accessOf(options);
  return {
    async *speak({ text, referenceId, signal }) {
      const body = {
        text,
        format: 'wav',
        streaming: true,
        ...(referenceId && { reference_id: referenceId }),
      };
      const path = '/v1/tts';
      const response = await accepted(access, { path, body, signal });
      yield* alignSamples(explained(await soundOf(response, path), access, signal));
    },
    async listReferences(signal) {
      const response = await requestList(access, signal);
      return (await read(response, listSchema, access, signal)).reference_ids;
    },
    async addReference({ id, audio, text }, signal) {
      const body = new FormData();
      body.set('id', id);
      body.set('text', text);
      body.set('audio', new Blob([Uint8Array.from(audio)]), id);
      await change(access, { path: '/v1/references/add', body, signal });
    },
    async deleteReference(id, signal) {
      await change(access, { path: '/v1/references/delete', body: { reference_id: id }, signal });
    },
  };
}

function accessOf({ url, timeoutMs }: SidecarClientOptions): Access {
  const { username, password, origin, pathname } = new URL(url);
  const pair = `${decodePercent(username)}:${decodePercent(password)}`;
  const authorization = pair === ':' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`;
  return { url: `${origin}${pathname}`.replace(/\/+$/, ''), authorization, timeoutMs };
}

/** Newer sidecars take GET, older ones POST. */
async function requestList(access: Access, signal: AbortSignal | undefined): Promise<Response> {
  const path = '/v1/references/list';
  const response = await send(access, { method: 'GET', path, signal });
  if (response.status !== 404 && response.status !== 405) return accept(response, path);
  await response.body?.cancel();
  return accepted(access, { path, body: {}, signal });
}

async function change(access: Access, call: Call): Promise<void> {
  const response = await accepted(access, call);
  const { success, message } = await read(response, outcomeSchema, access, call.signal);
  if (success === false)
    throw new SidecarError('refused', `The sidecar refused: ${message ?? 'it does not say why'}.`);
}

async function accepted(access: Access, call: Call): Promise<Response> {
  return accept(await send(access, call), call.path);
}

async function accept(response: Response, path: string): Promise<Response> {
  if (response.ok) return response;
  await response.body?.cancel();
  throw new SidecarError('refused', `The sidecar answered ${response.status} to ${path}.`);
}

async function send(access: Access, { method = 'POST', path, body, signal }: Call): Promise<Response> {
  const limit = AbortSignal.timeout(access.timeoutMs);
  const isForm = body instanceof FormData;
  try {
    return await fetch(`${access.url}${path}`, {
      method,
      // Without this header it answers in MessagePack.
      headers: {
        accept: 'application/json',
        ...(access.authorization && { authorization: access.authorization }),
        ...(body && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
  } catch (error) {
    throw explain(error, access, signal);
  }
}

async function* explained(
  chunks: AsyncIterable<Uint8Array>,
  access: Access,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw explain(error, access, signal);
  }
}

async function soundOf(response: Response, path: string): Promise<AsyncIterable<Uint8Array>> {
  const type = typeOfWords(response);
  if (type === undefined && response.body !== null) return response.body;
  await response.body?.cancel();
  const message = `The sidecar answered ${type ?? 'nothing'} to ${path}, and no sound.`;
  throw new SidecarError('unreadable', message);
}

async function read<Schema extends z.ZodType>(
  response: Response,
  schema: Schema,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<z.output<Schema>> {
  const bytes = await response.arrayBuffer().catch((error: unknown) => {
    throw explain(error, access, signal);
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
function explain(error: unknown, { url, timeoutMs }: Access, given: AbortSignal | undefined) {
  if (given?.aborted || error instanceof SidecarError) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    const message = `The sidecar took longer than ${timeoutMs / 1000} s; raise SIDECAR_TIMEOUT.`;
    return new SidecarError('timeout', message, { cause: error });
  }
  return new SidecarError('unreachable', `No sidecar answers at ${url}; check SIDECAR_URL.`, {
    cause: error,
  });
}

/** A voice to be saved: how it sounds, and what is said in the sound. */
interface Reference {
  id: string;
  audio: Uint8Array;
  text: string;
}

interface SpeechRequest {
  text: string;
  /** A saved voice; the sidecar's own when not given. */
  referenceId?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The speech server that clones voices. */
export interface Sidecar {
  /** 16-bit little-endian mono samples, as they are made; every chunk holds whole samples. */
  speak(request: SpeechRequest): AsyncGenerator<Uint8Array, void>;
  listReferences(signal?: AbortSignal): Promise<string[]>;
  addReference(reference: Reference, signal?: AbortSignal): Promise<void>;
  deleteReference(id: string, signal?: AbortSignal): Promise<void>;
}

/** The sidecar does not answer, or refuses. */
export class SidecarError extends Error {
  readonly code: 'unreachable' | 'timeout' | 'refused' | 'unreadable';

  constructor(code: SidecarError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SidecarError';
    this.code = code;
  }
}
