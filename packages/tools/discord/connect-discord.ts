import { Readable } from 'node:stream';
import { errorMessage, limitBody, untilAborted } from '@trunkline/std';
import type { Client, RESTOptions, ResponseLike } from 'discord.js';

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
    rest: await discordRest(apiUrl),
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

type MakeRequest = RESTOptions['makeRequest'];

/** More than a page of any list. */
const largestBytes = 20 * 2 ** 20;

/** Settings of a client of the REST API, which limit the time and the size of every answer. */
export async function discordRest(apiUrl: string) {
  const { DefaultRestOptions } = await import('discord.js');
  const makeRequest = readingWhole(DefaultRestOptions.makeRequest as MakeRequest);
  return { api: apiUrl.replace(/\/+$/, ''), timeout: 15_000, makeRequest };
}

/** Reads answers up to a limit, within the time that discord.js otherwise gives them to begin. */
function readingWhole(send: MakeRequest): MakeRequest {
  return async (url, init) => {
    const { body, status, statusText, headers } = await send(url, init);
    const stream = (body instanceof Readable ? Readable.toWeb(body) : body) as ReadableStream | null;
    const answer = limitBody(new Response(stream), { maxBytes: largestBytes });
    const bytes = await answer.arrayBuffer().catch((cause: unknown) => {
      // Without its code: by that discord.js would send again what may have been carried out.
      throw new Error(`The answer could not be read: ${errorMessage(cause)}`, { cause });
    });
    const read = bytes.byteLength === 0 ? null : bytes;
    return new Response(read, { status, statusText, headers: [...headers] }) as ResponseLike;
  };
}

/** discord.js cannot abort a login: destroying the client meanwhile would make it start over. */
function destroyAfter(login: Promise<unknown>, client: Client, logger: Log): void {
  client.removeAllListeners().on('error', () => undefined);
  login
    .then(() => client.destroy())
    .catch((error: unknown) => logger.warn({ err: error }, 'failed to end abandoned discord login'));
}
