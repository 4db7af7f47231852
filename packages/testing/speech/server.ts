import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface SpeechServerOptions {
  /** The chunks of every spoken text, cut where the test wants them, or what speaks it. */
  speech?: Uint8Array[] | ((text: string) => Promise<Uint8Array[]>);
  /** Other voices are refused; default: all are known. */
  voices?: string[];
  /** What is heard in every file, or what hears it. */
  transcript?: string | ((file: Uint8Array) => Promise<string>);
}

export interface SpeechServerRequest {
  path: string;
  authorization: string | undefined;
  /** Fields of the JSON body or of the form. */
  fields: Record<string, unknown>;
  /** The uploaded file. */
  file?: { name: string; bytes: Uint8Array };
  /** Set when the client went away before its answer was complete. */
  abandoned: boolean;
}

/** Instead of its work: a status; nothing at all; or an end before the first chunk or after it. */
export type SpeechServerFault = number | 'stall' | 'cut' | 'cut after first';

export interface SpeechServer {
  /** The base address, which ends in /v1. */
  url: string;
  requests: SpeechServerRequest[];
  /** Holds until it is taken away. */
  fault: SpeechServerFault | undefined;
  stop(): Promise<void>;
}

/** A fake of an OpenAI-style speech and transcription endpoint on a real socket. */
export async function startSpeechServer(options: SpeechServerOptions = {}): Promise<SpeechServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const state: SpeechServer = {
    url: `http://127.0.0.1:${port}/v1`,
    requests: [],
    fault: undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await record(request);
    state.requests.push(recorded);
    response.on('close', () => {
      recorded.abandoned = !response.writableFinished;
    });
    const { fault } = state;
    if (fault === 'stall') return;
    if (fault === 'cut') return void response.destroy();
    if (typeof fault === 'number') return refuse(response, fault);
    if (recorded.path === '/v1/audio/transcriptions') {
      const { transcript = '' } = options;
      const heard = async () => (typeof transcript === 'string' ? transcript : transcript(bytesOf(recorded)));
      return reply(response, { text: await heard() });
    }
    if (recorded.path !== '/v1/audio/speech') return refuse(response, 404);
    const known = options.voices?.includes(String(recorded.fields.voice)) ?? true;
    if (!known) return refuse(response, 400);
    const { speech = [new Uint8Array(4)] } = options;
    const chunks = typeof speech === 'function' ? await speech(String(recorded.fields.input)) : speech;
    await speak(response, chunks, fault);
  }

  return state;
}

function bytesOf({ file }: SpeechServerRequest): Uint8Array {
  return file?.bytes ?? new Uint8Array();
}

async function record(request: IncomingMessage): Promise<SpeechServerRequest> {
  const bytes = await buffer(request);
  const type = request.headers['content-type'] ?? '';
  const { authorization } = request.headers;
  const base = { path: request.url ?? '', authorization, abandoned: false };
  if (type.includes('json')) return { ...base, fields: JSON.parse(bytes.toString('utf8')) };
  const form = await new Response(Uint8Array.from(bytes), { headers: { 'content-type': type } }).formData();
  const fields = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
  const file = form.get('file');
  if (!(file instanceof File)) return { ...base, fields };
  return { ...base, fields, file: { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) } };
}

function reply(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number): void {
  reply(response, { error: { message: `refused with ${status}`, type: 'invalid_request_error' } }, status);
}

/** Each chunk goes out by itself, so that the client meets the cuts. */
async function speak(
  response: ServerResponse,
  chunks: readonly Uint8Array[],
  fault: SpeechServerFault | undefined,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'audio/pcm' });
  for (const chunk of chunks) {
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
    if (fault === 'cut after first') return void response.destroy();
  }
  response.end();
}
