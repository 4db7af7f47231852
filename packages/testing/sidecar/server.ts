import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface SavedReference {
  audio: Uint8Array;
  text: string;
}

export interface SidecarRequest {
  method: string;
  path: string;
  accept: string | undefined;
  /** Of requests with a JSON body. */
  body: Record<string, unknown>;
  /** Set when the client went away before its answer was complete. */
  abandoned: boolean;
}

export interface SidecarServerOptions {
  /** The chunks of every spoken text; cut where the test wants them. */
  speech?: Uint8Array[];
  /** `json` answers in JSON whatever is asked for; default MessagePack unless JSON is asked for. */
  answers?: 'json' | 'messagepack';
  /** Refuses to speak with a reference that is not saved; default: speaks all the same. */
  refuseUnknown?: boolean;
  /** An older server lists by POST only. */
  listMethod?: 'GET' | 'POST';
}

/** What the server does instead of a path's work: a status, a refusal in its words, or nothing at all. */
export type SidecarFault = number | { refuse: string } | 'stall';

export interface SidecarServer {
  url: string;
  references: Map<string, SavedReference>;
  requests: SidecarRequest[];
  /** By path. */
  faults: Map<string, SidecarFault>;
  stop(): Promise<void>;
}

/** A fake of the cloning speech server on a real socket: raw samples for speech, saved references by id. */
export async function startSidecarServer(options: SidecarServerOptions = {}): Promise<SidecarServer> {
  const references = new Map<string, SavedReference>();
  const requests: SidecarRequest[] = [];
  const faults = new Map<string, SidecarFault>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { recorded, bytes } = await record(request, response, requests);
    const fault = faults.get(recorded.path);
    if (fault === 'stall') return;
    if (typeof fault === 'number') return void response.writeHead(fault).end();
    const reply = (body: object) => send(response, body, recorded.accept, options.answers);
    if (fault !== undefined) return reply({ success: false, message: fault.refuse });
    const { reference_id: voice } = recorded.body;
    const isUnknown = voice !== undefined && !references.has(String(voice));
    if (recorded.path === '/v1/tts' && options.refuseUnknown && isUnknown)
      return void response.writeHead(400).end();
    if (recorded.path === '/v1/tts') return speak(response, options.speech ?? [new Uint8Array(4)]);
    const upload = recorded.path.endsWith('/add') ? await uploadOf(request, bytes) : undefined;
    const body = work(recorded, upload, references, options.listMethod);
    return body === undefined ? void response.writeHead(405).end() : reply(body);
  }

  return {
    url: `http://127.0.0.1:${port}`,
    references,
    requests,
    faults,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function record(request: IncomingMessage, response: ServerResponse, requests: SidecarRequest[]) {
  const bytes = await buffer(request);
  const isJson = request.headers['content-type']?.includes('json') ?? false;
  const recorded: SidecarRequest = {
    method: request.method ?? '',
    path: request.url ?? '',
    accept: request.headers.accept,
    body: isJson ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>) : {},
    abandoned: false,
  };
  requests.push(recorded);
  response.on('close', () => {
    recorded.abandoned = !response.writableFinished;
  });
  return { recorded, bytes };
}

interface Upload extends SavedReference {
  id: string;
}

async function uploadOf(request: IncomingMessage, bytes: Buffer): Promise<Upload> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const form = await new Response(Uint8Array.from(bytes), { headers }).formData();
  const audio = form.get('audio');
  return {
    id: String(form.get('id')),
    text: String(form.get('text')),
    audio: audio instanceof Blob ? new Uint8Array(await audio.arrayBuffer()) : new Uint8Array(),
  };
}

function work(
  { method, path, body }: SidecarRequest,
  upload: Upload | undefined,
  references: Map<string, SavedReference>,
  listMethod: 'GET' | 'POST' | undefined,
): object | undefined {
  switch (path) {
    case '/v1/references/list':
      if (listMethod !== undefined && method !== listMethod) return undefined;
      return { success: true, reference_ids: [...references.keys()] };
    case '/v1/references/add': {
      if (upload === undefined) return undefined;
      const { id, ...reference } = upload;
      if (references.has(id)) return { success: false, message: `Reference ID '${id}' already exists` };
      references.set(id, reference);
      return { success: true, reference_id: id };
    }
    case '/v1/references/delete':
      return { success: references.delete(String(body.reference_id)), message: 'no such reference' };
    default:
      return undefined;
  }
}

function send(
  response: ServerResponse,
  body: object,
  accept: string | undefined,
  answers: SidecarServerOptions['answers'],
): void {
  const isJson = answers === 'json' || (answers === undefined && (accept ?? '').includes('application/json'));
  response.writeHead(200, { 'content-type': isJson ? 'application/json' : 'application/msgpack' });
  response.end(isJson ? JSON.stringify(body) : encodeMessagePack(body));
}

/** Each chunk goes out by itself, so that the client meets the cuts. */
async function speak(response: ServerResponse, chunks: readonly Uint8Array[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'audio/wav' });
  for (const chunk of chunks) {
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

/** As much of MessagePack as the fake's answers need: booleans, and texts, lists and maps of up to 65535. */
export function encodeMessagePack(value: unknown): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 0xc3 : 0xc2]);
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'utf8');
    return Buffer.concat([head(0xda, bytes.length), bytes]);
  }
  if (Array.isArray(value))
    return Buffer.concat([head(0xdc, value.length), ...value.map((item) => encodeMessagePack(item))]);
  const entries = Object.entries(value as object);
  return Buffer.concat([
    head(0xde, entries.length),
    ...entries.flat().map((item) => encodeMessagePack(item)),
  ]);
}

function head(type: number, length: number): Buffer {
  return Buffer.from([type, length >> 8, length & 0xff]);
}
