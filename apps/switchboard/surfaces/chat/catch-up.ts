import type { REST } from 'discord.js';
import type { HeardMessage } from './inbound.ts';
import type { ChatState } from './state.ts';

interface ApiMessage {
  id: string;
  channel_id: string;
  content: string;
  author: { id: string; username: string; bot?: boolean };
  mentions: { id: string }[];
}

export interface CatchUpSettings {
  rest: REST;
  state: ChatState;
  take(heard: HeardMessage): Promise<void>;
}

export interface MissedPlace {
  channelId: string;
  botId: string;
  guildId: string;
}

const pageSize = 100;
const mostPages = 50;
/** As many missed messages are read of one channel. */
export const mostMissed = pageSize * mostPages;

/**
 * Takes what was said in a channel while nobody listened, the oldest first, from the place that was read last.
 * Says whether that was all of it.
 */
export async function catchUp(
  { rest, state, take }: CatchUpSettings,
  { channelId, botId, guildId }: MissedPlace,
): Promise<boolean> {
  let after = await state.lastRead(channelId);
  for (let page = 0; after !== undefined; page += 1) {
    const query = new URLSearchParams({ after, limit: String(pageSize) });
    const found = (await rest.get(`/channels/${channelId}/messages`, { query })) as ApiMessage[];
    if (found.length > 0 && page === mostPages) return false;
    const ordered = found.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
    for (const message of ordered) await take(heardOf(message, botId, guildId));
    after = found.length < pageSize ? undefined : ordered.at(-1)?.id;
  }
  return true;
}

function heardOf(message: ApiMessage, botId: string, guildId: string): HeardMessage {
  const { id, channel_id: channelId, content, author, mentions } = message;
  return {
    id,
    channelId,
    guildId,
    content,
    author: { id: author.id, name: author.username, bot: author.bot === true },
    mentionsBot: mentions.some((mention) => mention.id === botId),
  };
}
