import { createGuardedFetch, type GuardedFetch } from '@trunkline/http';
import { BoundedMap, errorMessage, KeyedQueue } from '@trunkline/std';
import type { GuildMember, Interaction, REST } from 'discord.js';
import type { PluginContext } from '../../core/plugins.ts';
import type { ProjectDirectory } from '../../projects/registry.ts';
import type { ChatFile } from '../../workspace/schema/chat.ts';
import { ChatBot, type HeardMessage, readMessage } from './bot.ts';
import { commandBodies, discordIdentity, suggest, takeCommand } from './interactions.ts';
import { createMissedChannels, type MissedChannels } from './missed-channels.ts';
import type { ChatOptions } from './options.ts';
import type { ChatState, ProgressNotes } from './state.ts';

const mostUsers = 10_000;

const mostRulings = 10_000;

/** Messages of one channel; more are dropped. */
const mostWaiting = 1000;

/** The key of work on the bots themselves, in the place of a channel. */
const signIns = 'sign-ins';

/** Epoch of the platform's ids. */
const firstMs = 1_420_070_400_000;

export interface AgentBot {
  agent: string;
  token: string;
}

export interface ListenerSettings {
  options: ChatOptions;
  context: PluginContext;
  token: string;
  state: ChatState;
  progress: ProgressNotes;
  projects: ProjectDirectory;
  rest: REST;
  agentBots(): AgentBot[];
}

type Joining = Omit<AgentBot, 'agent'> & { agent: string | undefined };

const retryMs = 5000;

export class ChatListener {
  readonly #settings: ListenerSettings;
  readonly #moderation: Moderation;
  readonly #fetch: GuardedFetch;
  readonly #missed: MissedChannels;
  readonly #bots = new Map<string, ChatBot>();
  /** Sign-ins under way, by token: a slow one does not hold up the others. */
  readonly #joining = new Map<string, Promise<void>>();
  /** Why bots are not signed in, by token. */
  readonly #failures = new Map<string, string>();
  #leaving = new AbortController();
  #retry: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;
  #registered = '';
  #isOn = false;
  /** Events of a channel are handled one at a time, in order: files in one do not hold up the others. */
  readonly #events = new KeyedQueue({ maxWaiting: mostWaiting });
  readonly #queued = new Set<Promise<void>>();

  constructor(settings: ListenerSettings) {
    this.#settings = settings;
    const { chatApiUrl, maxFileMb } = settings.options;
    this.#fetch = createGuardedFetch({
      allowedHosts: [new URL(chatApiUrl).hostname],
      maxBytes: maxFileMb * 2 ** 20,
    });
    this.#moderation = new Moderation(() => settings.context.workspace.chat().moderation);
    this.#missed = createMissedChannels({
      ...settings,
      take: async (bot, heard) => {
        await this.#take(bot, heard);
        await settings.state.read(heard.channelId, heard.id);
      },
      queue: (channelId, work) => this.#queue(channelId, work),
    });
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#leaving = new AbortController();
    this.#connectAll();
    this.#unfollow = this.#settings.context.workspace.onChange(() => this.#refresh());
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    this.#leaving.abort();
    this.#failures.clear();
    clearTimeout(this.#retry);
    this.#missed.stop();
    this.#unfollow?.();
    const before = [...this.#queued];
    this.#queue(signIns, async () => {
      await Promise.all(before);
      await this.#leave();
    });
    await Promise.all(this.#queued);
  }

  /** Why it does not hear all that it should; undefined while it listens, or leaves that to another switchboard. */
  problem(): string | undefined {
    const { token, agentBots } = this.#settings;
    const main = this.#failures.get(token);
    if (main !== undefined) return `The bot cannot sign in: ${main} Check CHAT_BOT_TOKEN.`;
    const other = agentBots().find((bot) => this.#failures.has(bot.token));
    return (
      other && `The bot of ${other.agent} cannot sign in: ${this.#failures.get(other.token)} Check its token.`
    );
  }

  /** Queued, so that a start right after it finds no bot that is about to leave. */
  async #leave(): Promise<void> {
    await Promise.all(this.#joining.values());
    const bots = [...this.#bots.values()];
    this.#bots.clear();
    await Promise.all(bots.map((bot) => bot.end()));
  }

  #refresh(): void {
    this.#connectAll();
    const main = this.#bots.get(this.#settings.token);
    if (main !== undefined) this.#queue(signIns, () => this.#register(main));
  }

  /** Connects missing bots; failures are retried. */
  #connectAll(): void {
    this.#queue(signIns, async () => {
      const { token, agentBots } = this.#settings;
      for (const bot of [{ agent: undefined, token }, ...agentBots()]) {
        if (!this.#isOn || this.#bots.has(bot.token) || this.#joining.has(bot.token)) continue;
        const joining = this.#join(bot, this.#leaving.signal).finally(() => this.#joining.delete(bot.token));
        this.#joining.set(bot.token, joining);
      }
    });
  }

  async #join(bot: Joining, leaving: AbortSignal): Promise<void> {
    try {
      this.#bots.set(bot.token, await this.#connect(bot, leaving));
      this.#failures.delete(bot.token);
    } catch (error) {
      if (leaving.aborted) return;
      this.#failures.set(bot.token, errorMessage(error).replace(/\.?$/, '.'));
      const { logger } = this.#settings.context;
      logger.error({ err: error, agent: bot.agent }, 'failed to sign bot in; check its token');
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.#connectAll(), retryMs);
    }
  }

  #connect({ agent, token }: Joining, leaving: AbortSignal): Promise<ChatBot> {
    const { context, options } = this.#settings;
    const settings = {
      token,
      agent,
      apiUrl: options.chatApiUrl,
      welcomes: agent === undefined && context.workspace.chat().channels.welcome !== '',
      onReady: (bot: ChatBot) => this.#settle(bot),
      onMessage: async (bot: ChatBot, heard: HeardMessage) =>
        this.#queue(heard.channelId, () => this.#hear(bot, heard)),
      onInteraction: (interaction: Interaction) => this.#interact(interaction),
      onNewcomer: (member: GuildMember) => this.#welcome(member),
      logger: context.logger,
    };
    return ChatBot.connect(settings, leaving);
  }

  #queue(key: string, work: () => Promise<void>): void {
    const { logger } = this.#settings.context;
    const queued: Promise<void> = this.#events
      .run(key, work)
      .catch((error: unknown) => logger.error({ err: error }, 'failed to handle chat event'))
      .finally(() => this.#queued.delete(queued));
    this.#queued.add(queued);
  }

  /** Registers commands and reads missed messages after every new session. */
  #settle(bot: ChatBot): void {
    if (bot.agent !== undefined) return;
    this.#queue(signIns, () => this.#register(bot));
    this.#missed.readAll(bot);
  }

  async #register(bot: ChatBot): Promise<void> {
    const { context, rest, options } = this.#settings;
    const { chatGuildId } = options;
    const body = commandBodies(context.workspace.chat().commands);
    const wanted = JSON.stringify(body);
    if (chatGuildId === undefined || wanted === this.#registered) return;
    await rest.put(`/applications/${bot.applicationId}/guilds/${chatGuildId}/commands`, { body });
    this.#registered = wanted;
  }

  /** The main bot records how far it has read; other bots add what is said to them. */
  async #hear(bot: ChatBot, heard: HeardMessage): Promise<void> {
    await this.#take(bot, heard);
    if (bot.agent === undefined && !this.#missed.has(heard.channelId))
      await this.#settings.state.read(heard.channelId, heard.id);
  }

  async #take(bot: ChatBot, heard: HeardMessage): Promise<void> {
    const { context, progress } = this.#settings;
    if (!heard.author.bot && !(await this.#passes(bot, heard))) return;
    const draft = readMessage(heard, {
      botId: bot.id,
      agent: bot.agent,
      channels: context.workspace.channels(),
    });
    if (draft !== undefined) {
      const stamped = context.senders.stamp(draft, { identity: discordIdentity(heard.author.id) });
      if (!context.senders.takes(stamped)) return;
      const sources = heard.attachments.map(({ url, ...file }) => ({
        ...file,
        read: (signal: AbortSignal) => this.#download(url, signal),
      }));
      const { correlationId } = await context.bus.publish(await context.files.receive(stamped, sources));
      progress.watch(correlationId, heard.channelId, bot.agent);
    }
  }

  async #download(url: string, signal: AbortSignal): Promise<Uint8Array> {
    const { body, status } = await this.#fetch(url, { signal });
    if (status === 200) return body;
    throw new Error(`the chat platform answers with ${status}.`);
  }

  /** Only the main bot acts on the ruling. */
  async #passes(bot: ChatBot, heard: HeardMessage): Promise<boolean> {
    const ruling = heard.guildId === undefined ? 'pass' : this.#moderation.judge(heard);
    if (ruling === 'pass') return true;
    const { logger } = this.#settings.context;
    if (bot.agent === undefined)
      await this.#discipline(ruling, heard).catch((error: unknown) =>
        logger.warn({ err: error }, 'failed to moderate; check the permissions of the bot'),
      );
    return false;
  }

  /** Spam is deleted silently; messages above the rate limit are ignored. */
  async #discipline(ruling: Ruling, { id, channelId, author }: HeardMessage): Promise<void> {
    const { context, rest } = this.#settings;
    if (ruling === 'spam') await rest.delete(`/channels/${channelId}/messages/${id}`);
    const { modLog } = context.workspace.chat().channels;
    const words =
      ruling === 'spam' ? 'A message was deleted as spam' : 'A message came too fast and was not heard';
    if (modLog !== '') {
      const body = {
        content: `${words}: <@${author.id}> in <#${channelId}>.`,
        allowed_mentions: { parse: [] },
      };
      await rest.post(`/channels/${modLog}/messages`, { body });
    }
  }

  async #interact(interaction: Interaction): Promise<void> {
    const { context, state } = this.#settings;
    const commands = () => context.workspace.chat().commands;
    if (interaction.isChatInputCommand())
      return takeCommand(interaction, { ...context, state, commands, suggestions: this.#suggestions });
    if (interaction.isAutocomplete()) await suggest(interaction, { suggestions: this.#suggestions });
  }

  readonly #suggestions = (option: string): readonly string[] => {
    const { context, projects } = this.#settings;
    const { workspace } = context;
    const agents = [...workspace.agents(), ...workspace.externalAgents()];
    if (/project|slug|repo/i.test(option)) return projects.list().map(({ slug }) => slug);
    if (/agent/i.test(option)) return agents.map(({ name }) => name);
    if (/skill/i.test(option))
      return workspace.agents().flatMap(({ skills }) => skills.map(({ name }) => name));
    return [];
  };

  async #welcome(member: GuildMember): Promise<void> {
    const { context, rest } = this.#settings;
    const { welcome } = context.workspace.chat().channels;
    if (welcome === '') return;
    const body = { content: `Welcome, <@${member.id}>!` };
    await rest.post(`/channels/${welcome}/messages`, { body });
  }
}

type Ruling = 'pass' | 'spam' | 'too-many';

/** Rejects spam and messages above the rate limit. */
class Moderation {
  readonly #config: () => ChatFile['moderation'];
  readonly #times = new BoundedMap<string, number[]>(mostUsers);
  /** A message is judged once, however many bots receive it. */
  readonly #rulings = new BoundedMap<string, Ruling>(mostRulings);

  constructor(config: () => ChatFile['moderation']) {
    this.#config = config;
  }

  judge(heard: HeardMessage): Ruling {
    const known = this.#rulings.get(heard.id);
    if (known !== undefined) return known;
    const ruling = this.#rule(heard);
    this.#rulings.set(heard.id, ruling);
    return ruling;
  }

  #rule({ id, author, content }: HeardMessage): Ruling {
    const { spamPatterns, rateLimit } = this.#config();
    if (spamPatterns.some((pattern) => new RegExp(pattern, 'i').test(content))) return 'spam';
    if (rateLimit === undefined) return 'pass';
    const at = saidAt(id);
    const since = at - rateLimit.windowSeconds * 1000;
    const recent = (this.#times.get(author.id) ?? []).filter((time) => time > since);
    if (recent.length >= rateLimit.maxMessages) return 'too-many';
    this.#times.set(author.id, [...recent, at]);
    return 'pass';
  }
}

/** The id holds the time, so that messages read after an outage do not count as sent at once. */
function saidAt(messageId: string): number {
  return Number(BigInt(messageId) >> 22n) + firstMs;
}
