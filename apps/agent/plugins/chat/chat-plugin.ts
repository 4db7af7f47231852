import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedQueue, QueueFullError } from '@trunkline/std';
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

/** Besides the one that is being answered. */
const maxWaitingPerChannel = 4;
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
  const answer = createAnswering(deps);
  const { logger } = deps;
  client.on('shardReady', () => logger.info({}, 'chat gateway connected'));
  client.on('shardReconnecting', () => logger.warn({}, 'chat gateway lost; reconnecting'));
  client.on('shardDisconnect', ({ code }) =>
    logger.error({ code }, 'chat gateway refused the bot: check CHAT_BOT_TOKEN and its intents'),
  );
  client.on('messageCreate', (message) => {
    try {
      answer(readMessage(message, client.user?.id ?? ''));
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
function createAnswering({ api, inbound, adminIds, logger }: BotDeps): (message: ChatMessage) => void {
  const queue = new KeyedQueue({ maxWaiting: maxWaitingPerChannel });
  const isForBot = ({ fromBot, isDirect, mentionsBot, authorId, content }: ChatMessage) =>
    !fromBot && content !== '' && (isDirect ? adminIds.includes(authorId) : mentionsBot);
  const answer = async ({ channelId, authorId: author, content: text }: ChatMessage) => {
    const answerText = await inbound({ text, source: 'chat', contextId: `chat:${channelId}`, author });
    for (const content of splitMessage(answerText)) {
      const signal = AbortSignal.timeout(answerTimeoutMs);
      await api(`/channels/${channelId}/messages`, { method: 'POST', body: { content }, signal });
    }
  };
  return (message) => {
    if (!isForBot(message)) return;
    const { channelId: channel } = message;
    queue
      .run(channel, () => answer(message))
      .catch((error: unknown) => {
        if (error instanceof QueueFullError) logger.warn({ channel }, 'chat message dropped: too many wait');
        else logger.error({ err: error, channel }, 'failed to answer a chat message');
      });
  };
}
