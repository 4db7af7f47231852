import { type Draft, escapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { connectDiscord } from '@trunkline/tools';
import type { Client, GuildMember, Interaction, Message, PartialMessage } from 'discord.js';
import { filesAlone } from '../../content/references.ts';
import { derivedId } from '../../core/messages.ts';
import type { Channel } from '../../workspace/schema/channels.ts';

export interface BotSettings {
  token: string;
  apiUrl: string;
  agent: string | undefined;
  welcomes: boolean;
  onReady(bot: ChatBot): void;
  onMessage(bot: ChatBot, heard: HeardMessage): Promise<void>;
  onInteraction(interaction: Interaction): Promise<void>;
  onNewcomer(member: GuildMember): Promise<void>;
  logger: Logger;
}

/** One bot at the gateway; the library resumes interrupted sessions. */
export class ChatBot {
  readonly agent: string | undefined;
  readonly #client: Client;
  readonly #logger: Logger;

  private constructor(client: Client, settings: BotSettings) {
    this.#client = client;
    this.agent = settings.agent;
    this.#logger = settings.logger;
    // Unlike clientReady, this comes with every new session.
    client.on('shardReady', () => settings.onReady(this));
    client.on(
      'messageCreate',
      (message) => void this.#run(() => settings.onMessage(this, this.hear(message))),
    );
    client.on(
      'interactionCreate',
      (interaction) => void this.#run(() => settings.onInteraction(interaction)),
    );
    client.on('guildMemberAdd', (member) => void this.#run(() => settings.onNewcomer(member)));
  }

  /** Waits until the gateway accepts the bot, or the signal aborts. */
  static connect(settings: BotSettings, signal: AbortSignal): Promise<ChatBot> {
    const createBot = (client: Client) => new ChatBot(client, settings);
    return connectDiscord({ ...settings, memberEvents: settings.welcomes, createBot }, signal);
  }

  get id(): string {
    return this.#client.user?.id ?? '';
  }

  get applicationId(): string {
    return this.#client.application?.id ?? this.id;
  }

  async end(): Promise<void> {
    await this.#client.destroy();
  }

  hear(message: Message | (PartialMessage & Message)): HeardMessage {
    const { id, channelId, guildId, content, author } = message;
    return {
      id,
      channelId,
      guildId: guildId ?? undefined,
      content,
      author: { id: author.id, name: author.username, bot: author.bot },
      mentionsBot: message.mentions.users.has(this.id),
      attachments: [...message.attachments.values()].map(({ url, name, contentType, size }) => ({
        url,
        name,
        mediaType: contentType ?? '',
        size,
      })),
    };
  }

  /** Gateway events may have any shape: a failure must not end the process. */
  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to handle chat event');
    }
  }
}

export interface HeardMessage {
  id: string;
  channelId: string;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  content: string;
  author: { id: string; name: string; bot: boolean };
  mentionsBot: boolean;
  attachments: readonly ChatAttachment[];
}

/** A file of a message, at an address of the platform. */
interface ChatAttachment {
  url: string;
  name: string;
  mediaType: string;
  size: number;
}

interface HearingSettings {
  botId: string;
  agent: string | undefined;
  channels: readonly Channel[];
}

/** Undefined for what is not addressed to an agent. */
export function readMessage(
  heard: HeardMessage,
  { botId, agent, channels }: HearingSettings,
): Draft | undefined {
  const { id, channelId, guildId, author, mentionsBot } = heard;
  const direct = guildId === undefined;
  const isMeant = direct || mentionsBot || (agent === undefined && isBound(channelId, channels));
  if (author.bot || !isMeant) return undefined;
  const said = heard.content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim();
  const content = said || (heard.attachments.length > 0 ? filesAlone : '');
  if (content === '') return undefined;
  return {
    topic: `message.inbound.chat.${escapeSegment(channelId)}`,
    payload: {
      content,
      direct,
      mentioned: mentionsBot,
      author: author.name,
      messageId: id,
      stream: true,
      arrivedAt: Date.now(),
      ...(agent !== undefined && { agent }),
    },
    id: derivedId(id, 'chat'),
    source: { interface: 'chat', channelId, userId: author.id },
    reply: { topic: replyTopic(direct, channelId, author.id, agent), format: 'markdown' },
  };
}

/** Channels with an agent or conversations need no mention. */
function isBound(channelId: string, channels: readonly Channel[]): boolean {
  return channels.some(
    (channel) =>
      channel.platform === 'chat' &&
      channel.channelId === channelId &&
      (channel.agent !== undefined || channel.conversation?.enabled === true),
  );
}

function replyTopic(direct: boolean, channelId: string, userId: string, agent: string | undefined): string {
  const place = direct ? `dm.user.${escapeSegment(userId)}` : escapeSegment(channelId);
  return `message.outbound.chat.${place}${agent === undefined ? '' : `.by.${escapeSegment(agent)}`}`;
}
