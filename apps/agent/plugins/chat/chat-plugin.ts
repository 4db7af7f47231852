import { setTimeout as sleep } from 'node:timers/promises';
import { group, list, text as textOption } from '@trunkline/config';
import { defineTool, type Tool } from '@trunkline/llm';
import { errorMessage, KeyedQueue, QueueFullError } from '@trunkline/std';
import { clamp, connectDiscord, oneLine, plainPost, splitMessage, visibleLinks } from '@trunkline/tools';
import type { Client, Message } from 'discord.js';
import { z } from 'zod';
import { type ApiClient, createApiClient, readJson } from '../api-client.ts';
import {
  type ChatDoor,
  definePlugin,
  type Inbound,
  type InboundAnswer,
  type InboundFile,
  type Plugin,
  type PluginContext,
} from '../open-plugins.ts';

export const chatPlugin = definePlugin({
  options: group('Chat (Discord)', {
    chatBotToken: textOption({
      env: 'CHAT_BOT_TOKEN',
      secret: true,
      doc: "Token of your Discord bot. It connects the switchboard's chat surface, or the agent's chat plugin if you enable that.",
    }),
    chatAdminIds: list({
      env: 'CHAT_ADMIN_IDS',
      default: [],
      doc: "Discord users who may send the agent's chat plugin direct messages.",
    }),
  }),
  create({ options: { chatBotToken, chatAdminIds }, config, secrets }) {
    const token = chatBotToken || secrets.chat.bot_token || config.chat.bot_token;
    return createChatPlugin({ token: token || undefined, adminIds: chatAdminIds });
  },
});

/** Ids are numbers: nothing else may enter a path. */
const snowflake = z.string().regex(/^\d{1,20}$/, 'an id is a number');

const maxMessages = 10;
/** Files in one message; the most that Discord takes. */
const mostAttached = 10;

const messageList = z.array(
  z.object({
    id: z.string(),
    content: z.string(),
    timestamp: z.string(),
    author: z.object({ username: z.string() }),
  }),
);

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
      const tools = [createChatSend(api), createChatRead(api), createChatReact(api)];
      const { inbound, door, logger } = context;
      if (inbound === undefined) return { tools, close: async () => undefined };
      const stop = startBot({ ...options, token, apiUrl, api, inbound, door, logger });
      return { tools, close: stop };
    },
  };
}

interface BotDeps extends ChatPluginOptions {
  token: string;
  apiUrl: string;
  api: ApiClient;
  inbound: Inbound;
  door: ChatDoor | undefined;
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
  name: string;
  content: string;
  files: readonly InboundFile[];
  isDirect: boolean;
  mentionsBot: boolean;
  fromBot: boolean;
}

function readMessage(message: Message, botId: string): ChatMessage {
  const { channelId, author, content, guildId, mentions, attachments } = message;
  return {
    channelId,
    authorId: author.id,
    name: author.username,
    content: content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim(),
    files: [...attachments.values()].map(({ url, name, contentType }) => ({
      uri: url,
      name,
      ...(contentType !== null && { mediaType: contentType }),
    })),
    isDirect: guildId === null,
    mentionsBot: mentions.users.has(botId),
    fromBot: author.bot || author.id === botId,
  };
}

/** Answers the messages of a channel one after the other; drops a message when too many wait. */
function createAnswering({ api, inbound, door, adminIds, logger }: BotDeps): (message: ChatMessage) => void {
  const queue = new KeyedQueue({ maxWaiting: maxWaitingPerChannel });
  const isForBot = ({ fromBot, isDirect, mentionsBot, content, files }: ChatMessage) =>
    !fromBot && (content !== '' || files.length > 0) && (isDirect || mentionsBot);
  const isListed = ({ authorId }: ChatMessage) => adminIds.includes(authorId);
  const isAdmitted = (message: ChatMessage) =>
    isListed(message) || (door === undefined ? !message.isDirect : door.admits(message.authorId));

  /** What a message is answered with; undefined for nothing. */
  const answerTo = async (message: ChatMessage): Promise<string | InboundAnswer | undefined> => {
    const { channelId, authorId: author, content, files, name, isDirect } = message;
    if (!isAdmitted(message)) {
      logger.warn({ author, channel: channelId }, 'chat message not delivered: its sender is not paired');
      return door?.notice({ author, name, isDirect });
    }
    const contextId = `chat:${channelId}`;
    return await inbound({
      text: content || 'Look at what I attached.',
      source: 'chat',
      contextId,
      author,
      ...(files.length > 0 && { files }),
      ...(isListed(message) && { isListed: true }),
    });
  };
  const answer = async (message: ChatMessage) => {
    const { channelId } = message;
    const given = (await answerTo(message)) ?? '';
    const { text, files } = typeof given === 'string' ? { text: given, files: [] } : given;
    const path = `/channels/${channelId}/messages`;
    for (const content of splitMessage(visibleLinks(text))) {
      const signal = AbortSignal.timeout(answerTimeoutMs);
      await api(path, { method: 'POST', body: { content, ...plainPost }, signal });
    }
    for (let from = 0; from < files.length; from += mostAttached) {
      const form = formOf(files.slice(from, from + mostAttached));
      await api(path, { method: 'POST', form, signal: AbortSignal.timeout(answerTimeoutMs) });
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

/** Files as the platform takes them. */
function formOf(files: InboundAnswer['files']): FormData {
  const form = new FormData();
  form.set('payload_json', JSON.stringify({ content: '', ...plainPost }));
  for (const [index, { name, mediaType, bytes }] of files.entries())
    form.set(`files[${index}]`, new Blob([new Uint8Array(bytes)], { type: mediaType }), name);
  return form;
}

function createChatSend(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_send',
    effects: ['sends'],
    subject: ({ channel_id }) => ({ recipient: channel_id }),
    description: 'Sends a message to a chat channel; a long one goes out as several.',
    input: z.object({ channel_id: snowflake, content: z.string() }),
    execute: async ({ channel_id, content }, { signal }) => {
      const messages = splitMessage(visibleLinks(content));
      if (messages.length === 0) return 'Error: the message is empty.';
      if (messages.length > maxMessages)
        return `Error: the message is longer than ${maxMessages} chat messages.`;
      return await sendAll(api, channel_id, messages, signal);
    },
  });
}

async function sendAll(
  api: ApiClient,
  channel: string,
  messages: string[],
  signal: AbortSignal,
): Promise<string> {
  for (const [index, content] of messages.entries()) {
    try {
      const body = { content, ...plainPost };
      await api(`/channels/${channel}/messages`, { method: 'POST', body, signal });
    } catch (error) {
      if (index === 0) throw error;
      throw new Error(`${index} of ${messages.length} messages were sent, then: ${errorMessage(error)}`);
    }
  }
  return `Sent ${messages.length} message(s) to ${channel}.`;
}

function createChatRead(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_read',
    effects: ['reads'],
    external: true,
    description: 'Reads the messages of a chat channel, the newest first.',
    input: z.object({
      channel_id: snowflake,
      limit: z.number().int().default(20).describe('How many, from 1 to 100.'),
    }),
    execute: async ({ channel_id, limit }, { signal }) => {
      const path = `/channels/${channel_id}/messages?limit=${clamp(limit, 1, 100)}`;
      const messages = await readJson(api, path, messageList, signal);
      messages.sort((left, right) => right.timestamp.localeCompare(left.timestamp));
      return messages.length === 0 ? 'No messages.' : messages.map(messageLine).join('\n');
    },
  });
}

function messageLine({ id, content, timestamp, author }: z.output<typeof messageList>[number]): string {
  return `[${id}] ${timestamp.slice(0, 16)} ${author.username}: ${oneLine(content, 2000)}`;
}

function createChatReact(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_react',
    effects: ['sends'],
    subject: ({ channel_id }) => ({ recipient: channel_id }),
    description: 'Puts an emoji on a chat message.',
    input: z.object({ channel_id: snowflake, message_id: snowflake, emoji: z.string().min(1).max(100) }),
    execute: async ({ channel_id, message_id, emoji }, { signal }) => {
      const name = encodeURIComponent(emoji.trim().replace(/^<a?:(.+)>$/, '$1'));
      const path = `/channels/${channel_id}/messages/${message_id}/reactions/${name}/@me`;
      await api(path, { method: 'PUT', signal });
      return `Reacted with ${emoji}.`;
    },
  });
}
