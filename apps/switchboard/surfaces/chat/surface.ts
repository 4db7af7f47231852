import { readVariable } from '@trunkline/config';
import type { REST } from 'discord.js';
import type { Leader } from '../../cluster/leader.ts';
import type { Plugin, PluginContext } from '../../core/plugin.ts';
import type { ProjectDirectory } from '../../core/project-directory.ts';
import type { SwitchboardOptions } from '../../options.ts';
import type { DeliveryDesk } from '../delivery/delivery-desk.ts';
import { ChatListener } from './listener.ts';
import { createChatSender } from './outbound.ts';
import { ProgressNotes } from './progress.ts';
import { ChatState } from './state.ts';

export interface ChatParts {
  desk: DeliveryDesk;
  leader: Leader;
  projects: ProjectDirectory;
}

/** A bot of an agent of its own. */
export interface AgentBot {
  agent: string;
  token: string;
}

/** The chat platform: messages and commands in, posts out. */
export function createChatSurface(
  options: SwitchboardOptions,
  { desk, leader, projects }: ChatParts,
): Plugin {
  const { chatBotToken: token } = options;
  let ends: (() => Promise<void> | void)[] = [];
  return {
    name: 'chat',
    off: token === undefined ? 'Set CHAT_BOT_TOKEN to switch it on.' : undefined,
    async start(context) {
      if (token === undefined) return;
      const { bus, logger } = context;
      const state = await ChatState.open(bus);
      const doors = await createDoors(options, token, context);
      const progress = new ProgressNotes({ bus, state, restOf: doors, logger });
      await progress.start();
      const send = createChatSender({ restOf: doors, state, progress, channels: channelsOf(context) });
      const close = await desk.open({ surface: 'chat', patterns: ['message.outbound.chat.#'], send });
      const listener = new ChatListener({
        context,
        token,
        state,
        progress,
        projects,
        rest: doors(undefined),
        agentBots: () => agentBots(context),
      });
      // One of several switchboards listens, so that a message comes in once.
      leader.onChange((term) => {
        if (term !== undefined) listener.start();
        else listener.stop().catch((error: unknown) => logger.warn({ err: error }, 'the bots did not leave'));
      });
      ends = [() => listener.stop(), close, () => progress.stop()];
    },
    async stop() {
      for (const end of ends) await end();
    },
  };
}

/** The agents that have a bot of their own, where its token is set. */
function agentBots({ workspace, env }: PluginContext): AgentBot[] {
  const named = [...workspace.agents(), ...workspace.externalAgents()];
  return named.flatMap(({ name, chatBotTokenEnvKey }) => {
    const token = chatBotTokenEnvKey && readVariable(chatBotTokenEnvKey, env);
    return token ? [{ agent: name, token }] : [];
  });
}

/** What is written goes through REST alone, so that every switchboard can write, whoever listens. */
async function createDoors(
  { chatApiUrl }: SwitchboardOptions,
  token: string,
  context: PluginContext,
): Promise<(agent: string | undefined) => REST> {
  const { REST } = await import('discord.js');
  const known = new Map<string, REST>();
  return (agent) => {
    const own = agentBots(context).find((bot) => bot.agent === agent)?.token ?? token;
    const door =
      known.get(own) ??
      new REST({ version: '10', api: chatApiUrl.replace(/\/+$/, ''), timeout: 15_000, retries: 0 }).setToken(
        own,
      );
    known.set(own, door);
    return door;
  };
}

function channelsOf({ workspace, options }: PluginContext) {
  const digest = () => workspace.chat().channels.digest || options.chatDigestChannel;
  const alert = () =>
    workspace.channels().find(({ platform, kind }) => platform === 'chat' && kind === 'alerts')?.channelId ??
    digest();
  return { digest, alert };
}
