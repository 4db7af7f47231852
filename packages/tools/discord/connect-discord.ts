import { untilAborted } from '@trunkline/std';
import type { Client } from 'discord.js';

/**
 * What every post has beside its content: it mentions people, never everyone or a role, and its links get no preview
 * (flag 4), which the platform would fetch at once: an address may carry out what a model was told to put into it.
 */
export const plainPost = { allowed_mentions: { parse: ['users'] as const }, flags: 4 };

export interface DiscordSettings<Bot> {
  token: string;
  /** Base address of the REST API, without the version; it also names the gateway. */
  apiUrl: string;
  /** Asks for the privileged intent that reports new members. */
  memberEvents?: boolean;
  /** Builds the caller's bot and registers its listeners; runs before the login, so that no event is missed. */
  createBot(client: Client): Bot;
  logger: Log;
}

interface Log {
  warn(fields: object, message: string): void;
}

/**
 * Signs a bot in and waits until the gateway accepts it or the signal aborts.
 * discord.js then sends heartbeats, resumes lost connections and starts new sessions by itself.
 */
export async function connectDiscord<Bot>(settings: DiscordSettings<Bot>, signal: AbortSignal): Promise<Bot> {
  // Loading the library takes a while: only services that have a bot pay for it.
  const { Client, Events, GatewayIntentBits: intents, Partials } = await import('discord.js');
  const { token, apiUrl, memberEvents, createBot, logger } = settings;
  const client = new Client({
    intents: [
      intents.Guilds,
      intents.GuildMessages,
      intents.MessageContent,
      intents.DirectMessages,
      ...(memberEvents ? [intents.GuildMembers] : []),
    ],
    // Direct messages arrive in channels that the client has not seen before.
    partials: [Partials.Channel],
    rest: { api: apiUrl.replace(/\/+$/, ''), timeout: 15_000 },
    allowedMentions: { parse: ['users'] },
  });
  const bot = createBot(client);
  client.on(Events.Error, (error) => logger.warn({ err: error }, 'discord gateway error'));
  const login = client.login(token);
  try {
    await untilAborted(login, signal);
    return bot;
  } catch (error) {
    if (signal.aborted) destroyAfter(login, client, logger);
    throw error;
  }
}

/** discord.js cannot abort a login: destroying the client meanwhile would make it start over. */
function destroyAfter(login: Promise<unknown>, client: Client, logger: Log): void {
  client.removeAllListeners().on('error', () => undefined);
  login
    .then(() => client.destroy())
    .catch((error: unknown) => logger.warn({ err: error }, 'failed to end abandoned discord login'));
}
