import type { GuildMember, Interaction, REST } from 'discord.js';
import type { PluginContext } from '../../core/plugin.ts';
import type { ProjectDirectory } from '../../core/project-directory.ts';
import { ChatBot } from './bot.ts';
import { missedMessages } from './catch-up.ts';
import { commandBodies } from './commands.ts';
import { type HeardMessage, readMessage } from './inbound.ts';
import { suggest, takeCommand } from './interactions.ts';
import { Moderation } from './moderation.ts';
import type { ProgressNotes } from './progress.ts';
import type { ChatState } from './state.ts';
import type { AgentBot } from './surface.ts';

export interface ListenerSettings {
  context: PluginContext;
  token: string;
  state: ChatState;
  progress: ProgressNotes;
  projects: ProjectDirectory;
  rest: REST;
  agentBots(): AgentBot[];
}

const retryMs = 5000;

/** Listens at the gateway with every bot there is. */
export class ChatListener {
  readonly #settings: ListenerSettings;
  readonly #moderation: Moderation;
  readonly #bots = new Map<string, ChatBot>();
  #retry: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;
  #registered = '';
  #isOn = false;
  /** What happens at the gateway is taken one after the other, so that order is kept. */
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: ListenerSettings) {
    this.#settings = settings;
    this.#moderation = new Moderation(() => settings.context.workspace.chat().moderation);
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#connectAll();
    this.#unfollow = this.#settings.context.workspace.onChange(() => this.#refresh());
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    clearTimeout(this.#retry);
    this.#unfollow?.();
    this.#queue(() => this.#leave());
    await this.#turn;
  }

  /** In its turn, so that a start that follows at once finds nobody connected who is about to leave. */
  async #leave(): Promise<void> {
    const bots = [...this.#bots.values()];
    this.#bots.clear();
    await Promise.all(bots.map((bot) => bot.end()));
  }

  #refresh(): void {
    this.#connectAll();
    const main = this.#bots.get(this.#settings.token);
    if (main !== undefined) this.#queue(() => this.#register(main));
  }

  /** Connects what is not connected; a failure is tried again. */
  #connectAll(): void {
    this.#queue(async () => {
      const { token, agentBots, context } = this.#settings;
      for (const bot of [{ agent: undefined, token }, ...agentBots()]) {
        if (!this.#isOn || this.#bots.has(bot.token)) continue;
        try {
          this.#bots.set(bot.token, await this.#connect(bot));
        } catch (error) {
          context.logger.error({ err: error, agent: bot.agent }, 'a bot could not sign in; check its token');
          clearTimeout(this.#retry);
          this.#retry = setTimeout(() => this.#connectAll(), retryMs);
        }
      }
    });
  }

  #connect({ agent, token }: { agent: string | undefined; token: string }): Promise<ChatBot> {
    const { context } = this.#settings;
    return ChatBot.connect({
      token,
      agent,
      apiUrl: context.options.chatApiUrl,
      welcomes: agent === undefined && context.workspace.chat().channels.welcome !== '',
      onReady: (bot) => this.#settle(bot),
      onMessage: async (bot, heard) => this.#queue(() => this.#take(bot, heard)),
      onInteraction: (interaction) => this.#interact(interaction),
      onNewcomer: (member) => this.#welcome(member),
      logger: context.logger,
    });
  }

  #queue(work: () => Promise<void>): void {
    const { logger } = this.#settings.context;
    this.#turn = this.#turn
      .then(work)
      .catch((error: unknown) => logger.error({ err: error }, 'an event of the chat could not be taken'));
  }

  /** After every fresh connection: the commands, and what was said meanwhile. One that fails keeps no other back. */
  #settle(bot: ChatBot): void {
    if (bot.agent !== undefined) return;
    this.#queue(() => this.#register(bot));
    const channels = this.#settings.context.workspace.channels();
    for (const { platform, channelId } of channels)
      if (platform === 'chat') this.#queue(() => this.#catchUp(bot, channelId));
  }

  async #catchUp(bot: ChatBot, channelId: string): Promise<void> {
    const { context, state, rest } = this.#settings;
    const place = { channelId, botId: bot.id, guildId: context.options.chatGuildId ?? 'guild' };
    for (const heard of await missedMessages(rest, state, place)) await this.#take(bot, heard);
  }

  async #register(bot: ChatBot): Promise<void> {
    const { context, rest } = this.#settings;
    const { chatGuildId } = context.options;
    const body = commandBodies(context.workspace.chat().commands);
    const wanted = JSON.stringify(body);
    if (chatGuildId === undefined || wanted === this.#registered) return;
    await rest.put(`/applications/${bot.applicationId}/guilds/${chatGuildId}/commands`, { body });
    this.#registered = wanted;
  }

  async #take(bot: ChatBot, heard: HeardMessage): Promise<void> {
    const { context, state, progress } = this.#settings;
    // The main bot hears everything; the others only add what is said to them.
    if (bot.agent === undefined && !heard.author.bot && !(await this.#isHeard(heard))) return;
    const draft = readMessage(heard, {
      botId: bot.id,
      agent: bot.agent,
      channels: context.workspace.channels(),
    });
    if (draft !== undefined) {
      const { correlationId } = await context.bus.publish(draft);
      progress.watch(correlationId, heard.channelId, bot.agent);
    }
    if (bot.agent === undefined) state.read(heard.channelId, heard.id);
  }

  /** Spam is deleted without a word; who writes too much is not heard for a while. */
  async #isHeard({ id, channelId, guildId, content, author }: HeardMessage): Promise<boolean> {
    const ruling = guildId === undefined ? 'pass' : this.#moderation.judge(author.id, content);
    if (ruling === 'pass') return true;
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
    return false;
  }

  async #interact(interaction: Interaction): Promise<void> {
    const { context, state } = this.#settings;
    const commands = () => context.workspace.chat().commands;
    if (interaction.isChatInputCommand())
      return takeCommand(interaction, { bus: context.bus, state, commands, suggestions: this.#suggestions });
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
