import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { JsonServer, type ReceivedRequest } from '../json-server.ts';
import {
  foreign,
  type GuildBot,
  guildFrame,
  interactionFrame,
  messageFrame,
  newcomerFrame,
  type PostBody,
  readyFrame,
  type Saying,
  snowflake,
  unauthorized,
} from './frames.ts';
import { acceptSocket, type ServerSocket } from './web-socket.ts';

interface GatewayFrame {
  op: number;
  d: unknown;
  s?: number;
  t?: string;
}

export interface GuildPost {
  id: string;
  channelId: string;
  content: string;
  author: string;
  edited?: boolean;
  /** Whom it may call, where it says so. */
  allowed?: readonly string[];
  /** 4: links get no preview. */
  flags?: number;
  files?: { name: string; mediaType: string; bytes: Buffer }[];
}

interface Connection {
  socket: ServerSocket;
  bot: GuildBot | undefined;
}

/** One Discord server with its gateway and REST API in version 10, as the real client library meets them. */
export class FakeGuild {
  readonly server = new JsonServer();
  readonly guildId = '900000000000000001';
  readonly posts: GuildPost[] = [];
  readonly deleted: string[] = [];
  /** What was answered to interactions, by id or token. */
  readonly callbacks: { id: string; body: { type: number; data?: unknown } }[] = [];
  readonly followUps: { token: string; content: string; original: boolean }[] = [];
  commands: { name: string; options?: unknown[] }[] = [];
  opened = 0;
  identifies = 0;
  /** When what is said from now on is said; the ids of the product hold it. */
  now: () => number = Date.now;
  /** The gateway takes connections and says nothing to bots that sign in. */
  isMute = false;
  resumes = 0;
  readonly #bots: ReadonlyMap<string, GuildBot>;
  readonly #connections = new Set<Connection>();
  readonly #log: { id: string; channelId: string; frame: object }[] = [];
  readonly #nonces = new Map<string, string>();
  /** What was dispatched, so that a connection that resumes gets what it missed. */
  readonly #dispatched: (GatewayFrame & { to: string | undefined })[] = [];
  /** Bots whose sessions cannot be resumed. */
  readonly #lost = new Set<string>();
  #sequence = 0;
  #last = 0n;

  private constructor(bots: Readonly<Record<string, GuildBot>>) {
    this.#bots = new Map(Object.entries(bots));
    this.#mountGateway();
    this.#mountMessages();
    this.#mountCommands();
  }

  /** Bots by their tokens. */
  static async start(bots: Readonly<Record<string, GuildBot>>): Promise<FakeGuild> {
    const fake = new FakeGuild(bots);
    await fake.server.listen();
    return fake;
  }

  /** The base address of the API. */
  get url(): string {
    return `${this.server.url}/api`;
  }

  async stop(): Promise<void> {
    this.cut();
    await this.server.stop();
  }

  /** A person says something; gives the id of the message. */
  say(saying: Saying): string {
    const {
      content,
      channelId,
      userId = '500000000000000001',
      mentions = [],
      isBot,
      to,
      attachments,
    } = saying;
    const id = this.#id();
    const frame = messageFrame({
      id,
      channelId,
      content,
      userId,
      mentions,
      isBot,
      attachments,
      guildId: to === undefined ? this.guildId : undefined,
    });
    this.#log.push({ id, channelId, frame });
    this.#dispatch('MESSAGE_CREATE', frame, to);
    return id;
  }

  /** A person uses a slash command, or types into one. */
  interact(type: 'command' | 'autocomplete', data: object, channelId: string): { id: string; token: string } {
    const id = this.#id();
    const token = `interaction-${id}`;
    const [application] = this.#bots.values();
    this.#dispatch(
      'INTERACTION_CREATE',
      interactionFrame({
        id,
        token,
        type,
        data,
        channelId,
        guildId: this.guildId,
        applicationId: application?.id,
      }),
      application?.id,
    );
    return { id, token };
  }

  join(userId: string): void {
    this.#dispatch('GUILD_MEMBER_ADD', newcomerFrame(userId, this.guildId), undefined);
  }

  /** Any event of the gateway, whatever its shape. */
  emit(event: string, data: object): void {
    this.#dispatch(event, data, undefined);
  }

  /** Cuts every gateway connection: the library resumes. */
  cut(): void {
    for (const { socket } of this.#connections) socket.cut();
  }

  /** Ends every gateway connection so that the session is lost. */
  loseSessions(): void {
    for (const { socket, bot } of this.#connections) {
      if (bot !== undefined) this.#lost.add(bot.id);
      socket.cut();
    }
  }

  get connected(): number {
    return [...this.#connections].filter(({ bot }) => bot !== undefined).length;
  }

  #mountGateway(): void {
    this.server.on('GET /api/v10/gateway/bot', (request) => {
      if (this.#botOf(request) === undefined) return unauthorized;
      const url = this.server.url.replace('http', 'ws');
      const session_start_limit = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 };
      return { body: { url, shards: 1, session_start_limit } };
    });
    this.server.on('GET /api/v10/users/@me', (request) => {
      const bot = this.#botOf(request);
      return bot === undefined ? unauthorized : { body: { id: bot.id, username: bot.name } };
    });
    this.server.onUpgrade((request, stream) => this.#welcome(request, stream));
  }

  #welcome(request: IncomingMessage, stream: Duplex): void {
    const connection: Connection = {
      bot: undefined,
      socket: acceptSocket(request, stream, {
        onMessage: (frame) => this.#hear(connection, frame as GatewayFrame),
        onClose: () => void this.#connections.delete(connection),
      }),
    };
    this.#connections.add(connection);
    this.opened += 1;
    connection.socket.send({ op: 10, d: { heartbeat_interval: 30_000 } });
  }

  #hear(connection: Connection, { op, d }: GatewayFrame): void {
    const { socket } = connection;
    if (op === 1) socket.send({ op: 11, d: null });
    if ((op !== 2 && op !== 6) || this.isMute) return;
    const { token, seq } = d as { token: string; seq?: number };
    const bot = this.#bots.get(token.replace(/^Bot /, ''));
    connection.bot = bot;
    if (bot === undefined) socket.close(4004);
    else if (op === 6) this.#resume(socket, bot, seq ?? 0);
    else this.#ready(socket, bot);
  }

  #resume(socket: ServerSocket, bot: GuildBot, seq: number): void {
    if (this.#lost.delete(bot.id)) {
      socket.send({ op: 9, d: false });
      return;
    }
    this.resumes += 1;
    for (const { to, ...frame } of this.#dispatched)
      if ((frame.s ?? 0) > seq && (to === undefined || to === bot.id)) socket.send(frame);
    this.#sequence += 1;
    socket.send({ op: 0, t: 'RESUMED', s: this.#sequence, d: {} });
  }

  #ready(socket: ServerSocket, bot: GuildBot): void {
    this.identifies += 1;
    const ready = readyFrame(bot, this.guildId, this.server.url.replace('http', 'ws'));
    const guild = guildFrame(this.guildId);
    for (const [t, d] of [
      ['READY', ready],
      ['GUILD_CREATE', guild],
    ] as const) {
      this.#sequence += 1;
      socket.send({ op: 0, t, s: this.#sequence, d });
    }
  }

  #dispatch(t: string, d: object, to: string | undefined): void {
    this.#sequence += 1;
    const frame = { op: 0, t, s: this.#sequence, d };
    this.#dispatched.push({ ...frame, to });
    for (const { bot, socket } of this.#connections)
      if (bot !== undefined && (to === undefined || to === bot.id)) socket.send(frame);
  }

  #mountMessages(): void {
    const { server } = this;
    server.on('POST /api/v10/channels/:channel/messages', (request, { channel = '' }) =>
      this.#post(request, channel),
    );
    server.on('PATCH /api/v10/channels/:channel/messages/:id', (request, { id }) => {
      const post = this.posts.find((each) => each.id === id);
      if (post === undefined) return { status: 404, body: { message: 'Unknown Message', code: 10_008 } };
      if (post.author !== this.#botOf(request)?.name) return foreign;
      const { content, allowed_mentions: allowed, flags } = request.body as PostBody;
      Object.assign(post, { content, allowed: allowed?.parse, flags, edited: true });
      return { body: { id } };
    });
    server.on('PUT /api/v10/channels/:channel/messages/:id/reactions/:emoji/@me', () => ({ status: 204 }));
    server.on('DELETE /api/v10/channels/:channel/messages/:id', (_request, { id = '' }) => {
      this.deleted.push(id);
      return { status: 204 };
    });
    server.on('GET /api/v10/channels/:channel/messages', ({ query }, { channel }) => {
      const after = BigInt(query.get('after') ?? 0);
      const found = this.#log.filter(({ id, channelId }) => channelId === channel && BigInt(id) > after);
      const page = found.slice(0, Number(query.get('limit') ?? 50));
      return { body: page.map(({ frame }) => frame).reverse() };
    });
    server.on('POST /api/v10/users/@me/channels', ({ body }) => ({
      body: { id: dmChannel((body as { recipient_id: string }).recipient_id), type: 1 },
    }));
  }

  /** Files are kept at addresses of the product until they are asked for. */
  keepFile(name: string, mediaType: string, bytes: Buffer) {
    const id = this.#id();
    const path = `/attachments/${id}/${name}`;
    this.server.on(`GET ${path}`, () => ({ body: bytes, headers: { 'content-type': mediaType } }));
    const url = `${this.server.url}${path}`;
    return { id, filename: name, url, proxy_url: url, size: bytes.length, content_type: mediaType };
  }

  async #post(request: ReceivedRequest, channelId: string) {
    const bot = this.#botOf(request);
    if (bot === undefined) return unauthorized;
    const {
      content,
      nonce = '',
      enforce_nonce,
      allowed_mentions: allowed,
      flags,
    } = (await bodyOf(request)) as PostBody;
    const files = await filesOf(request);
    if (content.length > 2000) return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
    const known = enforce_nonce ? this.#nonces.get(nonce) : undefined;
    if (known !== undefined) return { body: { id: known } };
    const id = this.#id();
    if (nonce !== '') this.#nonces.set(nonce, id);
    const rules = { ...(allowed && { allowed: allowed.parse }), ...(flags !== undefined && { flags }) };
    this.posts.push({
      id,
      channelId,
      content,
      author: bot.name,
      ...rules,
      ...(files.length > 0 && { files }),
    });
    return { body: { id, channel_id: channelId, content } };
  }

  #mountCommands(): void {
    const { server } = this;
    server.on('PUT /api/v10/applications/:app/guilds/:guild/commands', ({ body }) => {
      this.commands = body as typeof this.commands;
      return { body: [] };
    });
    server.on('POST /api/v10/interactions/:id/:token/callback', ({ body }, { id = '' }) => {
      this.callbacks.push({ id, body: body as { type: number } });
      return { status: 204 };
    });
    const answer =
      (original: boolean) =>
      ({ body }: ReceivedRequest, { token = '' }: Record<string, string>) => {
        this.followUps.push({ token, content: (body as { content: string }).content, original });
        return { body: { id: this.#id() } };
      };
    server.on('PATCH /api/v10/webhooks/:app/:token/messages/@original', answer(true));
    server.on('POST /api/v10/webhooks/:app/:token', answer(false));
  }

  #botOf({ headers }: ReceivedRequest): GuildBot | undefined {
    return this.#bots.get(headers.authorization?.replace(/^Bot /, '') ?? '');
  }

  #id(): string {
    const next = snowflake(this.now());
    this.#last = next > this.#last ? next : this.#last + 1n;
    return String(this.#last);
  }
}

/** The channel in which bots write to a person. */
export function dmChannel(userId: string): string {
  return `7${userId.slice(1)}`;
}

/** With files a body is a form whose field `payload_json` holds what is else the body. */
function formOf({ headers, bytes }: ReceivedRequest): Promise<FormData> | undefined {
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) return undefined;
  return new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
}

async function bodyOf(request: ReceivedRequest): Promise<unknown> {
  const form = await formOf(request);
  return form === undefined ? request.body : JSON.parse(String(form.get('payload_json')));
}

async function filesOf(request: ReceivedRequest) {
  const given = [...((await formOf(request))?.values() ?? [])].filter((value) => typeof value !== 'string');
  return await Promise.all(
    given.map(async (file) => ({
      name: file.name,
      mediaType: file.type,
      bytes: Buffer.from(await file.arrayBuffer()),
    })),
  );
}
