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

const pageSize = 100;
const mostPages = 5;

/** What was said in a channel while nobody listened, the oldest first; from the place that was read last. */
export async function missedMessages(
  rest: REST,
  state: ChatState,
  { channelId, botId, guildId }: { channelId: string; botId: string; guildId: string | undefined },
): Promise<HeardMessage[]> {
  const missed: HeardMessage[] = [];
  let after = state.lastRead(channelId);
  for (let page = 0; after !== undefined && page < mostPages; page += 1) {
    const query = new URLSearchParams({ after, limit: String(pageSize) });
    const found = (await rest.get(`/channels/${channelId}/messages`, { query })) as ApiMessage[];
    const ordered = found.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
    missed.push(...ordered.map((message) => heardOf(message, botId, guildId)));
    after = found.length < pageSize ? undefined : ordered.at(-1)?.id;
  }
  return missed;
}

function heardOf(message: ApiMessage, botId: string, guildId: string | undefined): HeardMessage {
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
