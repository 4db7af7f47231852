import { z } from 'zod';

export interface ChatMessage {
  channelId: string;
  authorId: string;
  content: string;
  isDirect: boolean;
  mentionsBot: boolean;
  fromBot: boolean;
}

export interface GatewayOptions {
  token: string;
  url: string;
  onMessage(message: ChatMessage): void;
  logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  /** The first wait before a new attempt; it doubles up to a minute. */
  retryMs?: number;
}

const frame = z.object({ op: z.number(), d: z.unknown(), s: z.number().nullish(), t: z.string().nullish() });
const hello = z.object({ heartbeat_interval: z.number().positive() });
const ready = z.object({
  session_id: z.string(),
  resume_gateway_url: z.string(),
  user: z.object({ id: z.string() }),
});
const created = z.object({
  channel_id: z.string(),
  content: z.string(),
  guild_id: z.string().nullish(),
  author: z.object({ id: z.string(), bot: z.boolean().optional() }),
  mentions: z.array(z.object({ id: z.string() })).default([]),
});

/** Guilds, guild messages, direct messages and their content. */
const INTENTS = 1 | 512 | 4096 | 32_768;
const VERSION = '/?v=10&encoding=json';
/** Wrong token, wrong intents and the like: trying again cannot help. */
const HOPELESS = new Set([4004, 4010, 4011, 4012, 4013, 4014]);
const LONGEST_RETRY_MS = 60_000;

/** Holds the platform's event stream open: heartbeats, resumption after a loss, a new session where that fails. */
export class ChatGateway {
  readonly #options: GatewayOptions;
  #socket: WebSocket | undefined;
  #session: { id: string; url: string } | undefined;
  #botId = '';
  #sequence: number | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #acknowledged = true;
  #failures = 0;
  #stopped = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopped) return;
    const socket = new WebSocket(`${(this.#session?.url ?? this.#options.url).replace(/\/$/, '')}${VERSION}`);
    this.#socket = socket;
    this.#acknowledged = true;
    socket.onmessage = ({ data }) => this.#take(String(data));
    socket.onclose = ({ code }) => this.#lost(socket, code);
    // A close event follows and deals with it.
    socket.onerror = () => this.#options.logger.warn({}, 'the chat gateway is disturbed');
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    clearInterval(this.#heartbeat);
    this.#socket?.close(1000);
  }

  /** What cannot be read is left out: nothing that comes over the wire may end the service. */
  #take(text: string): void {
    try {
      this.#hear(text);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'a message of the chat gateway cannot be read');
    }
  }

  #hear(text: string): void {
    const { op, d, s, t } = frame.parse(JSON.parse(text));
    if (typeof s === 'number') this.#sequence = s;
    if (op === 10) this.#greet(hello.parse(d).heartbeat_interval);
    else if (op === 11) this.#acknowledged = true;
    else if (op === 1) this.#send(1, this.#sequence);
    else if (op === 7) this.#socket?.close(4000);
    else if (op === 9) this.#invalidate(d === true);
    else if (op === 0) this.#event(t ?? '', d);
  }

  #greet(intervalMs: number): void {
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => this.#beat(), intervalMs);
    const { token } = this.#options;
    const properties = { os: process.platform, browser: 'trunkline', device: 'trunkline' };
    if (this.#session !== undefined)
      this.#send(6, { token, session_id: this.#session.id, seq: this.#sequence });
    else this.#send(2, { token, intents: INTENTS, properties });
  }

  /** A server that did not answer the last beat is gone, whatever the line says. */
  #beat(): void {
    if (!this.#acknowledged) {
      this.#socket?.close(4000);
      return;
    }
    this.#acknowledged = false;
    this.#send(1, this.#sequence);
  }

  #invalidate(resumable: boolean): void {
    if (!resumable) this.#session = undefined;
    this.#socket?.close(4000);
  }

  #event(name: string, data: unknown): void {
    this.#failures = 0;
    if (name === 'READY') {
      const { session_id, resume_gateway_url, user } = ready.parse(data);
      this.#session = { id: session_id, url: resume_gateway_url };
      this.#botId = user.id;
      this.#options.logger.info({}, 'the chat gateway is open');
    }
    if (name === 'MESSAGE_CREATE') this.#options.onMessage(this.#messageOf(created.parse(data)));
  }

  #messageOf({ channel_id, content, guild_id, author, mentions }: z.output<typeof created>): ChatMessage {
    return {
      channelId: channel_id,
      authorId: author.id,
      content: content.replaceAll(new RegExp(`<@!?${this.#botId}>`, 'g'), '').trim(),
      isDirect: guild_id === undefined || guild_id === null,
      mentionsBot: mentions.some(({ id }) => id === this.#botId),
      fromBot: author.bot === true || author.id === this.#botId,
    };
  }

  #lost(socket: WebSocket, code: number): void {
    if (socket !== this.#socket || this.#stopped) return;
    clearInterval(this.#heartbeat);
    if (HOPELESS.has(code)) {
      this.#options.logger.error(
        { code },
        'the chat gateway refuses the bot: check CHAT_BOT_TOKEN and its intents',
      );
      return;
    }
    const { retryMs = 1000, logger } = this.#options;
    const waitMs = Math.min(retryMs * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    logger.warn({ code, waitMs }, 'the chat gateway is lost and will be tried again');
    this.#retry = setTimeout(() => this.start(), waitMs);
  }

  #send(op: number, d: unknown): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d }));
  }
}
