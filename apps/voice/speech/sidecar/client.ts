import { decodePercent } from '@trunkline/config';
import { z } from 'zod';
import { accept, SpeechEndpoint } from '../endpoint.ts';
import { SpeechError } from '../speech-error.ts';

/** A voice to save: a recording, and what is said in it. */
interface Reference {
  id: string;
  audio: Uint8Array;
  text: string;
}

interface SpeechRequest {
  text: string;
  /** A saved voice; the sidecar's own if not given. */
  referenceId?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The speech server that clones voices. */
export interface Sidecar {
  /** 16-bit little-endian mono samples as they are made; every chunk holds whole samples. */
  speak(request: SpeechRequest): AsyncGenerator<Uint8Array, void>;
  listReferences(signal?: AbortSignal): Promise<string[]>;
  addReference(reference: Reference, signal?: AbortSignal): Promise<void>;
  deleteReference(id: string, signal?: AbortSignal): Promise<void>;
}

export interface SidecarClientOptions {
  /** May hold a user name and a password. */
  url: string;
  timeoutMs: number;
}

const listSchema = z.object({ reference_ids: z.array(z.string()) });
const outcomeSchema = z.looseObject({ success: z.boolean().optional(), message: z.string().optional() });

/** Speaks to the sidecar over HTTP. Its answers are MessagePack or JSON. */
export function createSidecarClient(options: SidecarClientOptions): Sidecar {
  const endpoint = createEndpoint(options);
  const post = async (path: string, body: FormData | object, signal: AbortSignal | undefined) =>
    checked(await endpoint.send(path, { body, signal }), path);
  const change = async (path: string, body: FormData | object, signal: AbortSignal | undefined) => {
    const response = await post(path, body, signal);
    const { success, message } = await endpoint.read(response, outcomeSchema, signal);
    if (success === false)
      throw new SpeechError('refused', `The sidecar refused: ${message ?? 'it does not say why'}.`);
  };
  return {
    async *speak({ text, referenceId, signal }) {
      const voice = referenceId && { reference_id: referenceId };
      const path = '/v1/tts';
      const response = await post(path, { text, format: 'wav', streaming: true, ...voice }, signal);
      const noSound = (type: string) => `The sidecar answered ${type} to ${path}, and no sound.`;
      yield* endpoint.sound(response, noSound, signal);
    },
    /** Newer sidecars take GET, older ones POST. */
    async listReferences(signal) {
      const path = '/v1/references/list';
      let response = await endpoint.send(path, { method: 'GET', signal });
      if (response.status === 404 || response.status === 405) {
        await response.body?.cancel();
        response = await endpoint.send(path, { body: {}, signal });
      }
      return (await endpoint.read(await checked(response, path), listSchema, signal)).reference_ids;
    },
    async addReference({ id, audio, text }, signal) {
      const form = new FormData();
      form.set('id', id);
      form.set('text', text);
      form.set('audio', new Blob([Uint8Array.from(audio)]), id);
      await change('/v1/references/add', form, signal);
    },
    deleteReference: (id, signal) => change('/v1/references/delete', { reference_id: id }, signal),
  };
}

function checked(response: Response, path: string): Promise<Response> {
  return accept(response, `The sidecar answered ${response.status} to ${path}.`);
}

/** Name and password travel as a header, so that errors can show the address. */
function createEndpoint({ url: given, timeoutMs }: SidecarClientOptions): SpeechEndpoint {
  const { username, password, origin, pathname } = new URL(given);
  const url = `${origin}${pathname}`.replace(/\/+$/, '');
  const pair = `${decodePercent(username)}:${decodePercent(password)}`;
  const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  return new SpeechEndpoint({
    url,
    // Without `accept` the sidecar answers in MessagePack.
    headers: { accept: 'application/json', ...(pair !== ':' && { authorization }) },
    timeoutMs,
    texts: {
      timeout: `The sidecar took longer than ${timeoutMs / 1000} s; raise SIDECAR_TIMEOUT.`,
      unreachable: `No sidecar answers at ${url}; check SIDECAR_URL.`,
      unreadable: "The sidecar's answer is not understood.",
    },
    decode: async (bytes) => (await import('@msgpack/msgpack')).decode(bytes),
  });
}
