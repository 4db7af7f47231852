import { type Draft, escapeSegment } from '@trunkline/bus';
import { z } from 'zod';
import { derivedId } from '../../core/derived-id.ts';

const envelopeSchema = z.object({
  envelope: z.object({
    source: z.string().nullish(),
    sourceNumber: z.string().nullish(),
    sourceName: z.string().nullish(),
    timestamp: z.number(),
    dataMessage: z
      .object({
        message: z.string().nullish(),
        groupInfo: z.object({ groupId: z.string() }).nullish(),
      })
      .nullish(),
  }),
});

/** What the bridge received, as a message; undefined for what holds no text, such as receipts and signs of typing. */
export function readEnvelope(received: unknown): Draft | undefined {
  const parsed = envelopeSchema.safeParse(received);
  if (!parsed.success) return undefined;
  const { source, sourceNumber, sourceName, timestamp, dataMessage } = parsed.data.envelope;
  const sender = sourceNumber ?? source;
  if (!sender || !dataMessage?.message) return undefined;
  const group = dataMessage.groupInfo && groupRecipient(dataMessage.groupInfo.groupId);
  const place = group ?? sender;
  return {
    topic: `message.inbound.messenger.${escapeSegment(place)}`,
    payload: {
      content: dataMessage.message,
      sender,
      name: sourceName ?? null,
      direct: group === null || group === undefined,
      arrivedAt: Date.now(),
    },
    id: derivedId(`${sender} ${timestamp}`, 'messenger'),
    source: { interface: 'messenger', channelId: place, userId: sender },
    reply: { topic: `message.outbound.messenger.${escapeSegment(place)}`, format: 'text' },
  };
}

/** The bridge names a group by this when it is written to. */
function groupRecipient(groupId: string): string {
  return `group.${Buffer.from(groupId).toString('base64')}`;
}
