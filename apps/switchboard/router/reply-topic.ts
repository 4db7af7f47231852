import type { Message } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';

/** Where an answer goes that has no address: back the way the message came, or to the channel of the schedule. */
export function defaultReplyTopic({ topic, payload }: Pick<Message, 'topic' | 'payload'>): string {
  return topic.startsWith('cron.')
    ? channelTopic(payload)
    : topic.replace(/^message\.inbound\b/, 'message.outbound');
}

/** The topic of the channel that a schedule's payload names: of the surface of that name, else of the one that takes all. */
export function channelTopic(payload: unknown): string {
  const { channel, sender } = fieldsOf(payload);
  const name = text(channel) ?? 'cli';
  const served = (wanted: string) => surfaces.find(({ schedules }: Surface) => schedules?.channel === wanted);
  const surface: Surface | undefined = name === 'cli' ? undefined : (served(name) ?? served('*'));
  return surface?.schedules?.topic(name, text(sender)) ?? 'message.outbound.cli';
}
