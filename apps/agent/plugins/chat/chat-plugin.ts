import { splitMessage } from '@trunkline/tools';
import { type ApiClient, createApiClient } from '../api-client.ts';
import type { Inbound, Plugin, PluginContext } from '../plugin.ts';
import { createChatReact } from './chat-react.ts';
import { createChatRead } from './chat-read.ts';
import { createChatSend } from './chat-send.ts';
import { ChatGateway, type ChatMessage } from './gateway.ts';

export interface ChatPluginOptions {
  token?: string | undefined;
  /** Users who may write to the bot directly. */
  adminIds: readonly string[];
  url?: string;
  gatewayUrl?: string;
  retryMs?: number;
}

const MOST_WAITING = 5;
const ANSWER_TIMEOUT_MS = 30_000;

/** Discord: tools to send, read and react, and a bot that answers who mentions it or may write to it. */
export function createChatPlugin(options: ChatPluginOptions): Plugin {
  const {
    token = '',
    url = 'https://discord.com/api/v10',
    gatewayUrl = 'wss://gateway.discord.gg',
  } = options;
  return {
    id: 'chat',
    description: 'Sends, reads and answers messages on Discord.',
    missing: () => (token === '' ? 'set CHAT_BOT_TOKEN, or chat.bot_token in the configuration.' : undefined),
    async open(context) {
      const api = createApiClient({
        name: 'The chat',
        url,
        headers: async () => ({ authorization: `Bot ${token}` }),
      });
      const tools = [createChatSend(api), createChatRead(api), createChatReact(api)];
      const { inbound, logger } = context;
      if (inbound === undefined) return { tools, close: async () => undefined };
      const answering = new Answering(api, inbound, options.adminIds, logger);
      const gateway = new ChatGateway({
        token,
        url: gatewayUrl,
        logger,
        onMessage: (message) => answering.take(message),
        ...(options.retryMs === undefined ? {} : { retryMs: options.retryMs }),
      });
      gateway.start();
      return { tools, close: async () => gateway.stop() };
    },
  };
}

/** Answers one message of a channel after the other; too many that wait are not taken. */
class Answering {
  readonly #api: ApiClient;
  readonly #inbound: Inbound;
  readonly #adminIds: readonly string[];
  readonly #logger: PluginContext['logger'];
  readonly #lines = new Map<string, { waiting: number; last: Promise<void> }>();

  constructor(
    api: ApiClient,
    inbound: Inbound,
    adminIds: readonly string[],
    logger: PluginContext['logger'],
  ) {
    this.#api = api;
    this.#inbound = inbound;
    this.#adminIds = adminIds;
    this.#logger = logger;
  }

  take(message: ChatMessage): void {
    if (!this.#isForUs(message)) return;
    const line = this.#lines.get(message.channelId) ?? { waiting: 0, last: Promise.resolve() };
    if (line.waiting >= MOST_WAITING) {
      this.#logger.warn({ channel: message.channelId }, 'a chat message is left out: too many wait');
      return;
    }
    line.waiting += 1;
    line.last = line.last.then(() => this.#answer(message)).finally(() => this.#leave(message.channelId));
    this.#lines.set(message.channelId, line);
  }

  #leave(channelId: string): void {
    const line = this.#lines.get(channelId);
    if (line === undefined) return;
    line.waiting -= 1;
    if (line.waiting === 0) this.#lines.delete(channelId);
  }

  #isForUs({ fromBot, isDirect, mentionsBot, authorId, content }: ChatMessage): boolean {
    if (fromBot || content === '') return false;
    return isDirect ? this.#adminIds.includes(authorId) : mentionsBot;
  }

  async #answer({ channelId, authorId: author, content }: ChatMessage): Promise<void> {
    try {
      const contextId = `chat:${channelId}`;
      const answer = await this.#inbound({ text: content, source: 'chat', contextId, author });
      for (const piece of splitMessage(answer)) {
        const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
        await this.#api(`/channels/${channelId}/messages`, {
          method: 'POST',
          body: { content: piece },
          signal,
        });
      }
    } catch (error) {
      this.#logger.error({ err: error, channel: channelId }, 'a chat message could not be answered');
    }
  }
}
