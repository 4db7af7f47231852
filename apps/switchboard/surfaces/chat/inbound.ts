import { type Draft, escapeSegment } from '@trunkline/bus';
import { derivedId } from '../../core/derived-id.ts';
import type { Channel } from '../../workspace/schema/channels.ts';

/** What is needed of a message of the platform. */
export interface HeardMessage {
  id: string;
  channelId: string;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  content: string;
  author: { id: string; name: string; bot: boolean };
  mentionsBot: boolean;
}

export interface HearingSettings {
  botId: string;
  /** The agent whose own bot heard it. */
  agent: string | undefined;
  channels: readonly Channel[];
}

/** A message for an agent; undefined for what is not said to one. */
export function readMessage(
  heard: HeardMessage,
  { botId, agent, channels }: HearingSettings,
): Draft | undefined {
  const { id, channelId, guildId, author, mentionsBot } = heard;
  const direct = guildId === undefined;
  const isMeant = direct || mentionsBot || (agent === undefined && isBound(channelId, channels));
  if (author.bot || !isMeant) return undefined;
  const content = heard.content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim();
  if (content === '') return undefined;
  return {
    topic: `message.inbound.chat.${escapeSegment(channelId)}`,
    payload: {
      content,
      direct,
      mentioned: mentionsBot,
      author: author.name,
      messageId: id,
      stream: true,
      arrivedAt: Date.now(),
      ...(agent !== undefined && { agent }),
    },
    id: derivedId(id, 'chat'),
    source: { interface: 'chat', channelId, userId: author.id },
    reply: { topic: replyTopic(direct, channelId, author.id, agent), format: 'markdown' },
  };
}

/** A channel that belongs to an agent, or where conversations are held, is heard without a mention. */
function isBound(channelId: string, channels: readonly Channel[]): boolean {
  return channels.some(
    (channel) =>
      channel.platform === 'chat' &&
      channel.channelId === channelId &&
      (channel.agent !== undefined || channel.conversation?.enabled === true),
  );
}

function replyTopic(direct: boolean, channelId: string, userId: string, agent: string | undefined): string {
  const place = direct ? `dm.user.${escapeSegment(userId)}` : escapeSegment(channelId);
  return `message.outbound.chat.${place}${agent === undefined ? '' : `.by.${escapeSegment(agent)}`}`;
}
