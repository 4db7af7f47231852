import { once } from 'node:events';
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChatRequestBody } from './reply.ts';
import type { RecordedRequest } from './server.ts';
import type { Wire, WireAnswer } from './wires.ts';

export interface WireOptions {
  /** Cuts the bytes of a write into the pieces that go out one by one. */
  split?: (bytes: Buffer) => Buffer[];
  /** Lets the seconds of a silence pass; they are over at once when left out. */
  silence?: (seconds: number) => Promise<void>;
  /** A text or response in place of the capture's; undefined plays the capture. By default one for requests without `stream`, as helpers make them. */
  helper?: (request: ChatRequestBody) => string | WireAnswer | undefined;
  /** Which requests meet the capture, all when left out; the helper answers the others. */
  isMeant?: (request: ChatRequestBody) => boolean;
}

export interface WireServer {
  /** Base address of the API, as the capture has it. */
  url: string;
  /** An address at which nothing was learned yet, for another capture. */
  freshUrl(wire: Wire): string;
  requests: RecordedRequest[];
  /** Bodies of the chat requests alone, in order. */
  chats(): ChatRequestBody[];
  /** Plays another capture from its beginning; what the old one had left is forgotten. */
  play(wire: Wire, options?: WireOptions): void;
  /** Whether a request waits for the end of its answer. */
  isBusy(): boolean;
  stop(): Promise<void>;
}

const freshPrefix = /^\/fresh-\d+(?=\/)/;

/** A gateway on a real socket that plays captures byte for byte. */
export async function startWireServer(first: Wire, firstOptions: WireOptions = {}): Promise<WireServer> {
  const requests: RecordedRequest[] = [];
  let playing = begin(first, firstOptions);
  let open = 0;
  const server = createServer((request) => {
    open += 1;
    request.socket.once('close', () => {
      open -= 1;
    });
    answer(request).catch((error: unknown) => request.socket.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage): Promise<void> {
    const { socket, method = '', headers } = request;
    const path = new URL(request.url ?? '/', 'http://localhost').pathname.replace(freshPrefix, '');
    const sent = await text(request);
    const body: unknown = sent === '' ? undefined : JSON.parse(sent);
    const recorded: RecordedRequest = { method, path, headers, body, abandoned: false };
    requests.push(recorded);
    const { options, next } = playing;
    await send(socket, next(method, path, body), options);
    recorded.abandoned = socket.destroyed;
  }

  let fresh = 0;
  return {
    url: `http://127.0.0.1:${port}${first.path ?? '/v1'}`,
    freshUrl(wire) {
      fresh += 1;
      return `http://127.0.0.1:${port}/fresh-${fresh}${wire.path ?? '/v1'}`;
    },
    requests,
    chats: () => requests.filter(({ path }) => isChat(path)).map(({ body }) => body as ChatRequestBody),
    play(wire, options = {}) {
      playing = begin(wire, options);
    },
    isBusy: () => open > 0,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function begin(wire: Wire, options: WireOptions) {
  const rules = wire.answers.filter(({ when }) => when !== undefined);
  const queue = wire.answers.filter(({ when }) => when === undefined);
  const { helper = ({ stream }: ChatRequestBody) => (stream ? undefined : 'They talked at length.') } =
    options;
  const { isMeant = () => true } = options;
  let chats = 0;

  function chat(request: ChatRequestBody): WireAnswer {
    const rule = isMeant(request) ? rules.find((each) => matches(each, request)) : undefined;
    if (rule !== undefined) return rule;
    const helped = helper(request);
    if (helped !== undefined) return typeof helped === 'string' ? json(200, documentOf(helped)) : helped;
    chats += 1;
    const [answer] = queue;
    if (answer?.repeat !== true) queue.shift();
    const message = `The capture ${wire.name} holds no answer for request ${chats}`;
    return answer ?? json(400, JSON.stringify({ error: { message } }));
  }

  function next(method: string, path: string, body: unknown): WireAnswer {
    if (isChat(path)) return chat(body as ChatRequestBody);
    const document = wire.routes?.[`${method} ${path}`];
    return document === undefined
      ? json(404, JSON.stringify({ error: { message: `No route ${method} ${path}` } }))
      : json(200, JSON.stringify(document));
  }

  return { options, next };
}

function matches({ when = {} }: WireAnswer, request: ChatRequestBody): boolean {
  const { has, longerThan } = when;
  if (has !== undefined && request[has] === undefined) return false;
  return longerThan === undefined || JSON.stringify(request.messages).length > longerThan;
}

function isChat(path: string): boolean {
  return path.endsWith('/chat/completions');
}

function documentOf(content: string): string {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  return JSON.stringify({ id: 'chatcmpl-helper', object: 'chat.completion', choices, usage });
}

function json(status: number, body: string): WireAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body };
}

/** Writes the response with a turn of the event loop after each piece, so that the reader gets it on its own. */
async function send(socket: Socket, answer: WireAnswer, options: WireOptions): Promise<void> {
  const { split = (bytes) => [bytes], silence = async () => undefined } = options;
  const { status = 200, headAfter, body, newline, reset } = answer;
  if (headAfter !== undefined) await silence(headAfter);
  socket.setNoDelay(true);
  await write(socket, Buffer.from(headOf(status, answer.headers)));
  for (const piece of typeof body === 'string' ? [body] : body) {
    if (typeof piece !== 'string') {
      await silence(piece.silence);
      continue;
    }
    const bytes = Buffer.from(newline === 'crlf' ? piece.replaceAll('\n', '\r\n') : piece);
    for (const part of split(bytes)) await write(socket, part);
  }
  if (socket.destroyed) return;
  if (reset) socket.resetAndDestroy();
  else socket.end();
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed || bytes.length === 0) return;
  socket.write(bytes);
  await nextTurn();
}

function headOf(status: number, headers: Record<string, string> = {}): string {
  const usual = status === 200 ? 'text/event-stream; charset=utf-8' : 'application/json';
  const lines = Object.entries({ 'content-type': usual, ...headers, connection: 'close' });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
}
