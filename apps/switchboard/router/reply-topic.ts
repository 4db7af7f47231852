import { escapeSegment, type Message } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';

/** Where an answer goes that has no address: back the way the message came, or to the channel of the schedule. */
export function defaultReplyTopic({ topic, payload }: Pick<Message, 'topic' | 'payload'>): string {
  return topic.startsWith('cron.')
    ? channelTopic(payload)
    : topic.replace(/^message\.inbound\b/, 'message.outbound');
}

/** The topic of the channel that a schedule's payload names. */
export function channelTopic(payload: unknown): string {
  const { channel, sender } = fieldsOf(payload);
  const name = text(channel) ?? 'cli';
  if (name === 'cli') return 'message.outbound.cli';
  if (name === 'messenger') return `message.outbound.messenger.${escapeSegment(text(sender) ?? 'cron')}`;
  return `message.outbound.chat.push.${escapeSegment(name)}`;
}
