import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The parsed body, or its text where it is no JSON. */
  body: unknown;
  /** The body as it came. */
  bytes: Buffer;
}

export interface JsonReply {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export type JsonHandler = (
  request: ReceivedRequest,
  found: Record<string, string>,
) => JsonReply | 'cut' | Promise<JsonReply | 'cut'>;

/** A fault for the next requests whose `METHOD /path` holds the text: an answer, or a connection that is cut. */
export interface Fault {
  on: string;
  times: number;
  reply: JsonReply | 'cut';
}

/** The HTTP side of a fake product: routes that answer JSON, a record of what came, and faults on demand. */
export class JsonServer {
  url = '';
  readonly requests: ReceivedRequest[] = [];
  readonly #faults: Fault[] = [];
  readonly #routes: { method: string; pattern: RegExp; names: string[]; handle: JsonHandler }[] = [];
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: Error) => response.destroy(error));
  });

  /** Adds a route; `:name` stands for one segment. A later one goes before those that were there. */
  on(route: string, handle: JsonHandler): void {
    const [method = '', path = ''] = route.split(' ');
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
    const pattern = new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`);
    this.#routes.unshift({ method, pattern, names, handle });
  }

  onUpgrade(welcome: (request: IncomingMessage, stream: Duplex) => void): void {
    this.#server.on('upgrade', welcome);
  }

  fail(on: string, reply: JsonReply | 'cut', times = 1): void {
    this.#faults.push({ on, reply, times });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', this.url);
    const method = incoming.method ?? 'GET';
    const bytes = await buffer(incoming);
    const body = parse(bytes.toString('utf8'));
    const request = { method, path: pathname, query: searchParams, headers: incoming.headers, body, bytes };
    this.requests.push(request);
    const reply = this.#faultFor(`${method} ${pathname}`) ?? (await this.#route(request));
    if (reply === 'cut') {
      incoming.socket.destroy();
      return;
    }
    const { status = 200, headers = {}, body: answer } = reply;
    outgoing.writeHead(status, {
      ...(answer !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    });
    const isPlain = typeof answer === 'string' || Buffer.isBuffer(answer);
    outgoing.end(answer === undefined ? '' : isPlain ? answer : JSON.stringify(answer));
  }

  async #route(request: ReceivedRequest): Promise<JsonReply | 'cut'> {
    for (const { method, pattern, names, handle } of this.#routes) {
      const match = method === request.method ? pattern.exec(request.path) : null;
      if (match === null) continue;
      const values = names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]);
      return await handle(request, Object.fromEntries(values));
    }
    return { status: 404, body: { message: `Not Found: ${request.method} ${request.path}` } };
  }

  #faultFor(call: string): JsonReply | 'cut' | undefined {
    const fault = this.#faults.find(({ on, times }) => times > 0 && call.includes(on));
    if (fault !== undefined) fault.times -= 1;
    return fault?.reply;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
