import type { REST } from 'discord.js';
import type { PluginContext } from '../../core/plugins.ts';
import { reportError } from '../../workspace/problems.ts';
import type { ChatBot, HeardMessage } from './bot.ts';
import type { ChatOptions } from './options.ts';
import type { ChatState } from './state.ts';

const pageSize = 100;

const mostPages = 50;

/** Missed messages that are read of one channel. */
const mostMissed = pageSize * mostPages;

export interface MissedSettings {
  options: ChatOptions;
  context: PluginContext;
  rest: REST;
  state: ChatState;
  /** Handles a message and records how far its channel was read. */
  take(bot: ChatBot, heard: HeardMessage): Promise<void>;
  /** Runs work after what was queued before for the channel. */
  queue(channelId: string, work: () => Promise<void>): void;
}

const longestPauseMs = 60_000;

/** Reads channels for messages sent while nobody listened. */
export function createMissedChannels({ options, rest, state, take, context, queue }: MissedSettings) {
  /** Failed attempts of each channel that is still to be read. */
  const failures = new Map<string, number>();
  const timers = new Map<string, NodeJS.Timeout>();

  /** Reads every channel of channels.yaml; a failure does not hold up the others. */
  function readAll(bot: ChatBot): void {
    for (const { platform, channelId } of context.workspace.channels()) {
      if (platform !== 'chat') continue;
      failures.set(channelId, 0);
      queue(channelId, () => read(bot, channelId));
    }
  }

  /** New messages there must not be recorded as read, or missed ones would be skipped. */
  function has(channelId: string): boolean {
    return failures.has(channelId);
  }

  function stop(): void {
    for (const timer of timers.values()) clearTimeout(timer);
    timers.clear();
    failures.clear();
  }

  async function read(bot: ChatBot, channelId: string): Promise<void> {
    try {
      if (!(await catchUp(bot, channelId))) await tellOfGap(channelId);
      failures.delete(channelId);
    } catch (error) {
      failed(bot, channelId, error);
    }
  }

  /** Handles missed messages of a channel, the oldest first. Returns whether these were all. */
  async function catchUp(bot: ChatBot, channelId: string): Promise<boolean> {
    let after = await state.lastRead(channelId);
    for (let page = 0; after !== undefined; page += 1) {
      const query = new URLSearchParams({ after, limit: String(pageSize) });
      const found = (await rest.get(`/channels/${channelId}/messages`, { query })) as ApiMessage[];
      if (found.length > 0 && page === mostPages) return false;
      const ordered = found.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
      for (const message of ordered)
        await take(bot, heardOf(message, bot.id, options.chatGuildId ?? 'guild'));
      after = found.length < pageSize ? undefined : ordered.at(-1)?.id;
    }
    return true;
  }

  /** A channel that is gone or forbidden is skipped; other failures are retried. */
  function failed(bot: ChatBot, channelId: string, error: unknown): void {
    const { status = 0 } = error as { status?: number };
    const isRefusal = status >= 400 && status < 500 && status !== 429;
    const advice = isRefusal ? 'check that the channel exists and the bot may read it' : 'retrying';
    context.logger.error({ err: error, channelId, advice }, 'failed to read missed messages');
    const count = failures.get(channelId);
    if (isRefusal || count === undefined) {
      failures.delete(channelId);
      return;
    }
    failures.set(channelId, count + 1);
    const pause = Math.min(longestPauseMs, options.deliveryRetryMs * 2 ** Math.min(count, 10));
    clearTimeout(timers.get(channelId));
    const again = () => queue(channelId, () => read(bot, channelId));
    timers.set(channelId, setTimeout(again, pause).unref());
  }

  async function tellOfGap(channelId: string): Promise<void> {
    const { bus, logger } = context;
    const error = `More than ${mostMissed} messages were missed in the channel ${channelId}; those after the first ${mostMissed} were not read.`;
    logger.error({ channelId, error }, 'too many missed messages');
    await reportError(bus, logger, { source: 'surfaces', plugin: 'chat', error });
  }

  return { readAll, has, stop };
}

export type MissedChannels = ReturnType<typeof createMissedChannels>;

interface ApiMessage {
  id: string;
  channel_id: string;
  content: string;
  author: { id: string; username: string; bot?: boolean };
  mentions: { id: string }[];
  attachments?: { url: string; filename: string; content_type?: string; size: number }[];
}

function heardOf(message: ApiMessage, botId: string, guildId: string): HeardMessage {
  const { id, channel_id: channelId, content, author, mentions, attachments = [] } = message;
  return {
    id,
    channelId,
    guildId,
    content,
    author: { id: author.id, name: author.username, bot: author.bot === true },
    mentionsBot: mentions.some((mention) => mention.id === botId),
    attachments: attachments.map(({ url, filename: name, content_type: mediaType = '', size }) => ({
      url,
      name,
      mediaType,
      size,
    })),
  };
}
