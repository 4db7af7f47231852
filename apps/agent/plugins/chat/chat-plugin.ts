import { setTimeout as sleep } from 'node:timers/promises';
import { connectDiscord, splitMessage } from '@trunkline/tools';
import type { Client, Message } from 'discord.js';
import { type ApiClient, createApiClient } from '../api-client.ts';
import type { Inbound, Plugin, PluginContext } from '../plugin.ts';
import { createChatTools } from './chat-tools.ts';

export interface ChatPluginOptions {
  token?: string | undefined;
  /** Users who may write to the bot directly. */
  adminIds: readonly string[];
  /** Base address of the REST API, without the version. */
  apiUrl?: string;
  /** Wait before the second login attempt; it doubles up to a minute. */
  retryMs?: number;
}

const maxWaitingPerChannel = 5;
const answerTimeoutMs = 30_000;
const maxRetryMs = 60_000;

/** Discord: tools to send, read and react, and a bot that answers mentions and direct messages of admins. */
export function createChatPlugin(options: ChatPluginOptions): Plugin {
  const { token = '', apiUrl = 'https://discord.com/api' } = options;
  return {
    id: 'chat',
    description: 'Sends, reads and answers messages on Discord.',
    missing: () => (token === '' ? 'set CHAT_BOT_TOKEN, or chat.bot_token in the configuration.' : undefined),
    async open(context) {
      const api = createApiClient({
        name: 'The chat',
        url: `${apiUrl}/v10`,
        headers: async () => ({ authorization: `Bot ${token}` }),
      });
      const tools = createChatTools(api);
      const { inbound } = context;
      if (inbound === undefined) return { tools, close: async () => undefined };
      const stop = startBot({ ...options, token, apiUrl, api, inbound, logger: context.logger });
      return { tools, close: stop };
    },
  };
}

interface BotDeps extends ChatPluginOptions {
  token: string;
  apiUrl: string;
  api: ApiClient;
  inbound: Inbound;
  logger: PluginContext['logger'];
}

/** Signs the bot in without holding up the service. Returns the function that signs it out. */
function startBot(deps: BotDeps): () => Promise<void> {
  const stopping = new AbortController();
  const signedIn = signIn(deps, stopping.signal);
  return async () => {
    stopping.abort();
    await (await signedIn)?.destroy();
  };
}

/** Retries until the gateway accepts the bot; a refused token ends it, as no retry can help. */
async function signIn(deps: BotDeps, signal: AbortSignal): Promise<Client | undefined> {
  const { token, apiUrl, logger, retryMs = 1000 } = deps;
  const createBot = (client: Client) => attachBot(client, deps);
  for (let waitMs = retryMs; !signal.aborted; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
    try {
      return await connectDiscord({ token, apiUrl, createBot, logger }, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isRefusal(error)) {
        logger.error({ err: error }, 'chat gateway refused the bot: check CHAT_BOT_TOKEN and its intents');
        return undefined;
      }
      logger.warn({ err: error, waitMs }, 'failed to connect to the chat gateway; retrying');
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}

/** discord.js gives a code for a token that REST refuses, and only these texts for what the gateway refuses. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const refusals = ['Authentication failed', 'Used invalid intents', 'Used disallowed intents'];
  return ('code' in error && error.code === 'TokenInvalid') || refusals.includes(error.message);
}

function attachBot(client: Client, deps: BotDeps): Client {
  const answering = new Answering(deps);
  const { logger } = deps;
  client.on('shardReady', () => logger.info({}, 'chat gateway connected'));
  client.on('shardReconnecting', () => logger.warn({}, 'chat gateway lost; reconnecting'));
  client.on('shardDisconnect', ({ code }) =>
    logger.error({ code }, 'chat gateway refused the bot: check CHAT_BOT_TOKEN and its intents'),
  );
  client.on('messageCreate', (message) => {
    try {
      answering.take(readMessage(message, client.user?.id ?? ''));
    } catch (error) {
      // Anything may come over the wire: nothing of it may end the service.
      logger.warn({ err: error }, 'failed to read a chat message');
    }
  });
  return client;
}

interface ChatMessage {
  channelId: string;
  authorId: string;
  content: string;
  isDirect: boolean;
  mentionsBot: boolean;
  fromBot: boolean;
}

function readMessage({ channelId, author, content, guildId, mentions }: Message, botId: string): ChatMessage {
  return {
    channelId,
    authorId: author.id,
    content: content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim(),
    isDirect: guildId === null,
    mentionsBot: mentions.users.has(botId),
    fromBot: author.bot || author.id === botId,
  };
}

/** Answers the messages of a channel one after the other; drops a message when too many wait. */
class Answering {
  readonly #api: ApiClient;
  readonly #inbound: Inbound;
  readonly #adminIds: readonly string[];
  readonly #logger: PluginContext['logger'];
  readonly #lines = new Map<string, { waiting: number; last: Promise<void> }>();

  constructor({ api, inbound, adminIds, logger }: BotDeps) {
    this.#api = api;
    this.#inbound = inbound;
    this.#adminIds = adminIds;
    this.#logger = logger;
  }

  take(message: ChatMessage): void {
    if (!this.#isForUs(message)) return;
    const line = this.#lines.get(message.channelId) ?? { waiting: 0, last: Promise.resolve() };
    if (line.waiting >= maxWaitingPerChannel) {
      this.#logger.warn({ channel: message.channelId }, 'chat message dropped: too many wait');
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
        const signal = AbortSignal.timeout(answerTimeoutMs);
        await this.#api(`/channels/${channelId}/messages`, {
          method: 'POST',
          body: { content: piece },
          signal,
        });
      }
    } catch (error) {
      this.#logger.error({ err: error, channel: channelId }, 'failed to answer a chat message');
    }
  }
}
