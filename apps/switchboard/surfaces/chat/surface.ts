import { escapeSegment } from '@trunkline/bus';
import { readVariable } from '@trunkline/config';
import { discordRest } from '@trunkline/tools';
import type { REST } from 'discord.js';
import type { PluginContext } from '../../core/plugins.ts';
import { defineSurface } from '../surface.ts';
import { type AgentBot, ChatListener } from './listener.ts';
import { type ChatOptions, chatOptions } from './options.ts';
import { createChatSender } from './outbound.ts';
import { ChatState, createProgressNotes } from './state.ts';

/** Discord: messages and slash commands in, posts out. */
export const chatSurface = defineSurface({
  name: 'chat',
  title: 'Discord',
  guide:
    "Make an application with a bot in Discord's developer portal, switch on the intent Message Content, and invite the bot to your server with the scopes bot and applications.commands.",
  options: chatOptions,
  variables: 'CHAT_BOT_TOKEN',
  carriesQuestions: true,
  hasChannels: true,
  provesSender: true,
  channelTopic: (channelId) => `message.outbound.chat.${escapeSegment(channelId)}`,
  schedules: { channel: '*', topic: (channel) => `message.outbound.chat.push.${escapeSegment(channel)}` },
  create(options, { deliveries, leader, projects }) {
    const { chatBotToken: token } = options;
    let ends: (() => Promise<void> | void)[] = [];
    let problem = (): string | undefined => undefined;
    return {
      off: token === undefined ? 'Set CHAT_BOT_TOKEN to switch it on.' : undefined,
      async start(context) {
        if (token === undefined) return;
        const { bus, logger } = context;
        const state = await ChatState.open(bus);
        const restOf = await createRestClients(options, token, context);
        const progress = createProgressNotes({ bus, state, restOf, logger });
        await progress.start();
        const send = createChatSender({
          restOf,
          state,
          progress,
          files: context.files,
          channels: channelsOf(options, context),
        });
        const close = await deliveries.open({ surface: 'chat', patterns: ['message.outbound.chat.#'], send });
        const listener = new ChatListener({
          options,
          context,
          token,
          state,
          progress,
          projects,
          rest: restOf(undefined),
          agentBots: () => agentBots(context),
        });
        // Only the leader listens, so that a message comes in once.
        leader.onChange((term) => {
          if (term !== undefined) listener.start();
          else
            listener
              .stop()
              .catch((error: unknown) => logger.warn({ err: error }, 'failed to disconnect bots'));
        });
        problem = () => listener.problem();
        ends = [() => listener.stop(), close, () => progress.stop()];
      },
      problem: () => problem(),
      async stop() {
        for (const end of ends) await end();
      },
    };
  },
  diagnose({ chatBotToken: token, chatApiUrl }) {
    if (token === undefined) return undefined;
    return async (signal) => {
      const createRest = await restFactory(chatApiUrl);
      const rest = createRest(token);
      const { username } = (await rest.get('/users/@me', { signal })) as { username: string };
      return `signed in as ${username}`;
    };
  },
});

/** Agents with a bot of their own whose token is set. */
function agentBots({ workspace, env }: PluginContext): AgentBot[] {
  const named = [...workspace.agents(), ...workspace.externalAgents()];
  return named.flatMap(({ name, chatBotTokenEnvKey }) => {
    const token = chatBotTokenEnvKey && readVariable(chatBotTokenEnvKey, env);
    return token ? [{ agent: name, token }] : [];
  });
}

/** Posting needs REST only, so that every switchboard can, whichever listens at the gateway. */
async function createRestClients(
  { chatApiUrl }: ChatOptions,
  token: string,
  context: PluginContext,
): Promise<(agent: string | undefined) => REST> {
  const createRest = await restFactory(chatApiUrl);
  const known = new Map<string, REST>();
  return (agent) => {
    const own = agentBots(context).find((bot) => bot.agent === agent)?.token ?? token;
    const client = known.get(own) ?? createRest(own);
    known.set(own, client);
    return client;
  };
}

async function restFactory(url: string): Promise<(token: string) => REST> {
  const { REST } = await import('discord.js');
  const settings = { version: '10', ...(await discordRest(url)), retries: 0 };
  return (token) => new REST(settings).setToken(token);
}

function channelsOf(options: ChatOptions, { workspace }: PluginContext) {
  const digest = () => workspace.chat().channels.digest || options.chatDigestChannel;
  const alert = () =>
    workspace.channels().find(({ platform, kind }) => platform === 'chat' && kind === 'alerts')?.channelId ??
    digest();
  return { digest, alert };
}
