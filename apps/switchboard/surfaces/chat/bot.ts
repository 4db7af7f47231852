import type { Logger } from '@trunkline/config';
import { connectDiscord } from '@trunkline/tools';
import type { Client, GuildMember, Interaction, Message, PartialMessage } from 'discord.js';
import type { HeardMessage } from './inbound.ts';

export interface BotSettings {
  token: string;
  apiUrl: string;
  /** The agent whose own bot it is. */
  agent: string | undefined;
  /** Newcomers are only told of where somebody wants to know. */
  welcomes: boolean;
  onReady(bot: ChatBot): void;
  onMessage(bot: ChatBot, heard: HeardMessage): Promise<void>;
  onInteraction(interaction: Interaction): Promise<void>;
  onNewcomer(member: GuildMember): Promise<void>;
  logger: Logger;
}

/** One bot at the gateway of the platform; the library resumes by itself what was cut. */
export class ChatBot {
  readonly agent: string | undefined;
  readonly #client: Client;
  readonly #logger: Logger;

  private constructor(client: Client, settings: BotSettings) {
    this.#client = client;
    this.agent = settings.agent;
    this.#logger = settings.logger;
    // Comes with every fresh session, where clientReady comes with the first one only.
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
    };
  }

  /** What comes over the wire may have any shape: neither reading nor taking it ends the process. */
  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.error({ err: error }, 'an event of the chat could not be taken');
    }
  }
}
