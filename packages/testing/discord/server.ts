import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { acceptSocket, type ServerSocket } from './web-socket.ts';

export interface DiscordMessage {
  id: string;
  channel_id: string;
  content: string;
  timestamp: string;
  author: { id: string; username: string; bot?: boolean };
  guild_id?: string;
  mentions: { id: string }[];
}

export interface GatewayFrame {
  op: number;
  d: unknown;
  s?: number;
  t?: string;
}

export interface FakeDiscordOptions {
  token: string;
  heartbeatMs?: number;
}

/** The parts of Discord that a bot meets: REST for messages and reactions, and the gateway, both on one port. */
export class FakeDiscord {
  readonly url: string;
  readonly requests: { method: string; path: string; authorization: string | undefined; body: unknown }[] =
    [];
  readonly messages: DiscordMessage[] = [];
  /** What bots said over the gateway. */
  readonly received: GatewayFrame[] = [];
  /** Answers for the next REST requests in place of the real ones. */
  readonly refusals: { status: number; body: unknown }[] = [];
  acknowledges = true;
  readonly #options: FakeDiscordOptions;
  readonly #sockets = new Set<ServerSocket>();
  readonly #close: () => Promise<void>;
  #sequence = 0;
  #connections = 0;

  private constructor(url: string, options: FakeDiscordOptions, close: () => Promise<void>) {
    this.url = url;
    this.#options = options;
    this.#close = close;
  }

  static async start(options: FakeDiscordOptions): Promise<FakeDiscord> {
    const server = createServer((request, response) => {
      fake.#answer(request, response).catch((error: Error) => response.destroy(error));
    });
    server.on('upgrade', (request, stream) => fake.#welcome(request, stream));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    };
    const fake = new FakeDiscord(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      options,
      close,
    );
    return fake;
  }

  get gatewayUrl(): string {
    return `${this.url.replace('http', 'ws')}/gateway`;
  }

  /** How many gateway connections there were. */
  get connections(): number {
    return this.#connections;
  }

  /** Sends an event to every bot that is connected. */
  dispatch(name: string, data: unknown): void {
    this.#sequence += 1;
    this.broadcast({ op: 0, t: name, s: this.#sequence, d: data });
  }

  broadcast(frame: GatewayFrame): void {
    for (const socket of this.#sockets) socket.send(frame);
  }

  /** Ends every gateway connection, with a code or without a word. */
  dropGateway(code?: number): void {
    for (const socket of this.#sockets) {
      if (code === undefined) socket.cut();
      else socket.close(code);
    }
  }

  async stop(): Promise<void> {
    this.dropGateway();
    await this.#close();
  }

  #welcome(request: IncomingMessage, stream: Parameters<typeof acceptSocket>[1]): void {
    this.#connections += 1;
    const socket = acceptSocket(request, stream, {
      onMessage: (message) => this.#hear(socket, message as GatewayFrame),
      onClose: () => void this.#sockets.delete(socket),
    });
    this.#sockets.add(socket);
    socket.send({ op: 10, d: { heartbeat_interval: this.#options.heartbeatMs ?? 30_000 } });
  }

  #hear(socket: ServerSocket, frame: GatewayFrame): void {
    this.received.push(frame);
    if (frame.op === 1 && this.acknowledges) socket.send({ op: 11, d: null });
    if (frame.op !== 2 && frame.op !== 6) return;
    if ((frame.d as { token?: string }).token !== this.#options.token) socket.close(4004);
    else if (frame.op === 6) this.dispatch('RESUMED', {});
    else
      this.dispatch('READY', {
        session_id: 'session-1',
        resume_gateway_url: this.gatewayUrl,
        user: { id: '999' },
      });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request);
    const { authorization } = request.headers;
    const [method = '', path = ''] = [request.method, request.url];
    this.requests.push({ method, path, authorization, body: sent === '' ? undefined : JSON.parse(sent) });
    const { status, body } = this.refusals.shift() ?? this.#reply(authorization);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 204 ? undefined : JSON.stringify(body));
  }

  #reply(authorization: string | undefined): { status: number; body: unknown } {
    if (authorization !== `Bot ${this.#options.token}`)
      return { status: 401, body: { message: '401: Unauthorized', code: 0 } };
    const { method, path, body } = this.requests.at(-1) ?? { method: '', path: '', body: undefined };
    const [, channel, rest = ''] = /^\/channels\/(\d+)\/messages(.*)$/.exec(path) ?? [];
    if (channel === undefined) return { status: 404, body: { message: 'Unknown Channel', code: 10_003 } };
    if (method === 'PUT') return { status: 204, body: undefined };
    if (method === 'POST')
      return { status: 200, body: { id: String(this.requests.length), ...(body as object) } };
    const limit = Number(new URLSearchParams(rest.replace('?', '')).get('limit') ?? 50);
    return {
      status: 200,
      body: this.messages.filter(({ channel_id }) => channel_id === channel).slice(0, limit),
    };
  }
}
