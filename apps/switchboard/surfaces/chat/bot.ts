import type { Logger } from '@trunkline/config';
import { untilAborted } from '@trunkline/http';
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

  private constructor(client: Client, { agent, logger }: BotSettings) {
    this.#client = client;
    this.agent = agent;
    this.#logger = logger;
  }

  /** Waits until the gateway has let it in, or the signal says to wait no longer. */
  static async connect(settings: BotSettings, signal: AbortSignal): Promise<ChatBot> {
    const { Client, Events, GatewayIntentBits: intents, Partials } = await import('discord.js');
    const client = new Client({
      intents: [
        intents.Guilds,
        intents.GuildMessages,
        intents.MessageContent,
        intents.DirectMessages,
        ...(settings.welcomes ? [intents.GuildMembers] : []),
      ],
      partials: [Partials.Channel],
      rest: { api: settings.apiUrl.replace(/\/+$/, ''), timeout: 15_000 },
      allowedMentions: { parse: ['users'] },
    });
    const bot = new ChatBot(client, settings);
    // Comes with every fresh session, where ClientReady comes with the first one only.
    client.on(Events.ShardReady, () => settings.onReady(bot));
    client.on(
      Events.MessageCreate,
      (message) => void bot.#run(() => settings.onMessage(bot, bot.hear(message))),
    );
    client.on(
      Events.InteractionCreate,
      (interaction) => void bot.#run(() => settings.onInteraction(interaction)),
    );
    client.on(Events.GuildMemberAdd, (member) => void bot.#run(() => settings.onNewcomer(member)));
    client.on(Events.Error, (error) =>
      settings.logger.warn({ err: error }, 'the chat gateway reported an error'),
    );
    const login = client.login(settings.token);
    try {
      await untilAborted(login, signal);
      return bot;
    } catch (error) {
      bot.#abandon(login);
      throw error;
    }
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

  /** The library cannot be called off while it signs in: it would begin anew. It leaves as soon as it is in. */
  #abandon(login: Promise<unknown>): void {
    this.#client.removeAllListeners().on('error', () => undefined);
    login
      .then(() => this.#client.destroy())
      .catch((error: unknown) => this.#logger.debug({ err: error }, 'a bot that was not waited for is gone'));
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
