import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PeerRequest {
  /** `GET /.well-known/agent-card.json` or `POST /a2a`. */
  line: string;
  headers: IncomingHttpHeaders;
  /** The text as it came. */
  text: string;
  /** Its JSON; an empty object when there was none. */
  body: Record<string, unknown>;
}

interface PeerFile {
  name: string;
  mimeType: string;
  bytes?: string;
  uri?: string;
}

/** How the peer answers a message. */
export type PeerAnswer =
  | { text: string; files?: readonly PeerFile[]; data?: object; mimeType?: string }
  | { data: object }
  /** `shows`: files of the message in its status. */
  | { question: string; files?: readonly PeerFile[]; shows?: readonly PeerFile[] }
  | { failure: string; shows?: readonly PeerFile[] }
  /** A task without any artifact. */
  | { silence: true }
  | { error: { code: number; message: string } }
  /** An HTTP answer as it is. */
  | { status: number; body?: string; headers?: Record<string, string> }
  /** Never answers. */
  | { hang: true };

export interface FakePeerOptions {
  answer?: (request: PeerRequest) => PeerAnswer;
  /** What stands at the well-known path; without one the peer has no card. */
  card?: (origin: string) => object;
}

export interface FakePeer {
  origin: string;
  /** The A2A endpoint. */
  url: string;
  /** Everything that came, in order. */
  requests: PeerRequest[];
  stop(): Promise<void>;
}

/** Another agent on a real socket: speaks A2A 0.3 over JSON-RPC, keeps what it was sent, fails when told to. */
export async function startFakePeer(options: FakePeerOptions = {}): Promise<FakePeer> {
  const requests: PeerRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    void receive(incoming).then((request) => {
      requests.push(request);
      respond(request, outgoing, origin, options);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/a2a`,
    requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<PeerRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { line: `${incoming.method} ${incoming.url}`, headers: incoming.headers, text, body };
}

function respond(
  request: PeerRequest,
  outgoing: ServerResponse,
  origin: string,
  options: FakePeerOptions,
): void {
  if (request.line.startsWith('GET ')) {
    respondCard(request, outgoing, origin, options);
    return;
  }
  const answer = options.answer?.(request) ?? { text: 'Hello from the peer' };
  if ('hang' in answer) return;
  if ('status' in answer) {
    outgoing.writeHead(answer.status, answer.headers).end(answer.body ?? '');
    return;
  }
  if (request.body.method === 'message/stream') respondStream(request, answer, outgoing);
  else sendJson(outgoing, 200, envelope(request, answer));
}

function respondCard(
  request: PeerRequest,
  outgoing: ServerResponse,
  origin: string,
  { card }: FakePeerOptions,
): void {
  const known = card !== undefined && request.line === 'GET /.well-known/agent-card.json';
  sendJson(outgoing, known ? 200 : 404, known ? card(origin) : { detail: 'not found' });
}

type Reply = Exclude<PeerAnswer, { hang: true } | { status: number }>;

function envelope(request: PeerRequest, answer: Reply): object {
  const head = { jsonrpc: '2.0', id: request.body.id };
  return 'error' in answer ? { ...head, error: answer.error } : { ...head, result: taskFor(request, answer) };
}

/** The same task in two steps, as a stream would tell it. */
function respondStream(request: PeerRequest, answer: Reply, outgoing: ServerResponse): void {
  if ('error' in answer) {
    sendJson(outgoing, 200, envelope(request, answer));
    return;
  }
  const task = taskFor(request, answer);
  const place = { taskId: task.id, contextId: task.contextId };
  const frames = [
    { ...task, status: { state: 'working' }, artifacts: [] },
    ...task.artifacts.map((artifact) => ({ kind: 'artifact-update', ...place, artifact, lastChunk: true })),
    { kind: 'status-update', ...place, status: task.status, final: true },
  ];
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const result of frames) {
    outgoing.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: request.body.id, result })}\n\n`);
  }
  outgoing.end();
}

function taskFor(request: PeerRequest, answer: Exclude<Reply, { error: unknown }>) {
  const { state, said } = outcomeOf(answer);
  const texts = 'text' in answer ? [{ kind: 'text', text: answer.text }] : [];
  const files = 'files' in answer ? (answer.files ?? []).map(filePart) : [];
  const metadata = 'mimeType' in answer && { metadata: { mimeType: answer.mimeType } };
  const data = 'data' in answer && answer.data ? [{ kind: 'data', data: answer.data, ...metadata }] : [];
  const shown = 'shows' in answer ? (answer.shows ?? []).map(filePart) : [];
  const parts = [...texts, ...files, ...data];
  const artifacts = parts.length === 0 ? [] : [{ artifactId: 'answer', parts }];
  const message = {
    kind: 'message',
    role: 'agent',
    messageId: 'said',
    parts: [{ kind: 'text', text: said }, ...shown],
  };
  return {
    kind: 'task',
    id: 'peer-task',
    contextId: contextOf(request),
    status: { state, ...(said === undefined ? {} : { message }) },
    artifacts,
  };
}

function filePart(file: PeerFile) {
  return { kind: 'file', file };
}

function outcomeOf(answer: Exclude<Reply, { error: unknown }>): { state: string; said?: string } {
  if ('question' in answer) return { state: 'input-required', said: answer.question };
  if ('failure' in answer) return { state: 'failed', said: answer.failure };
  return { state: 'completed' };
}

function contextOf({ body }: PeerRequest): string {
  const params = body.params as { contextId?: string; message?: { contextId?: string } } | undefined;
  return params?.contextId ?? params?.message?.contextId ?? 'peer-context';
}

function sendJson(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
