import { unescapeSegment } from '@trunkline/bus';
import { fetchOnNewConnection } from '@trunkline/http';
import { limitBody } from '@trunkline/std';
import { splitMessage } from '@trunkline/tools';
import { z } from 'zod';
import type { PluginContext } from '../../core/plugins.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type DeliveryAttempt, DeliveryError, notTaken, retryAfterMs } from '../delivery/outbox.ts';

export interface BridgeSettings {
  url: string;
  number: string;
  /** For messages without a recipient. */
  defaultRecipient: string | undefined;
  files: Pick<PluginContext['files'], 'open'>;
}

const longest = 2000;
const largestAnswer = 2 ** 20;
const base = 'message.outbound.messenger';
const sentSchema = z.object({ timestamp: z.union([z.string(), z.number()]) });

/** Sends messages of `message.outbound.messenger.#`. */
export function createMessengerSender(settings: BridgeSettings) {
  return async ({ message, signal, done, arrived }: DeliveryAttempt): Promise<void> => {
    const fields = fieldsOf(message.payload);
    const content = text(fields.content);
    const recipient = recipientOf(message.topic, text(fields.recipient)) ?? settings.defaultRecipient;
    const { files, lost } = await settings.files.open(message.payload, message.principal);
    if (content === undefined && files.length === 0)
      throw new DeliveryError('The message has no content.', { permanent: true });
    if (recipient === undefined) {
      const words = 'The message names nobody: add the number to its topic, or set MESSENGER_RECIPIENT.';
      throw new DeliveryError(words, { permanent: true });
    }
    const words = [content ?? '', ...lost.map((why) => `(${why})`)];
    const parts = splitMessage(words.filter((each) => each !== '').join('\n'), longest);
    const texts = parts.length === 0 ? [''] : parts;
    for (const [index, part] of texts.entries()) {
      if (index < done.length) continue;
      // The files go with the last part.
      const given = index === texts.length - 1 ? files : [];
      const letter = { message: part, attached: given.map(dataUri) };
      const sent = send(settings, recipient, letter, signal).catch((error: unknown) => {
        const message = `${part}\n${notTaken('The Signal bridge', given, error)}`.trim();
        return send(settings, recipient, { message, attached: [] }, signal);
      });
      arrived(await sent);
    }
  };
}

/** Schedules use `.cron`, which names no recipient. */
function recipientOf(topic: string, named: string | undefined): string | undefined {
  const segment = topic.slice(base.length + 1);
  return segment === '' || segment === 'cron' ? named : unescapeSegment(segment);
}

async function send(
  { url, number }: BridgeSettings,
  recipient: string,
  { message, attached }: { message: string; attached: readonly string[] },
  signal: AbortSignal,
): Promise<string> {
  const response = await fetchOnNewConnection(`${url.replace(/\/+$/, '')}/v2/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      number,
      recipients: [recipient],
      message,
      ...(attached.length > 0 && { base64_attachments: attached }),
    }),
    signal,
  });
  const reading = limitBody(response, { maxBytes: largestAnswer }).text();
  // With its status the bridge has taken the message, whatever becomes of the rest of its answer.
  const answer = await (response.ok ? reading.catch(() => '') : reading);
  if (response.ok) return timestampIn(answer) ?? `taken at ${new Date().toISOString()}`;
  const permanent = response.status < 500 && response.status !== 429;
  throw new DeliveryError(`The bridge answered ${response.status}: ${answer.slice(0, 300)}`, {
    permanent,
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
  });
}

/** As the bridge takes a file. */
function dataUri({ mediaType, name, bytes }: { mediaType: string; name: string; bytes: Uint8Array }): string {
  const filename = name.replaceAll(/[;,\s]+/g, '_');
  return `data:${mediaType};filename=${filename};base64,${Buffer.from(bytes).toString('base64')}`;
}

/** Undefined when the bridge does not say: it has the message, which must not be sent again. */
function timestampIn(answer: string): string | undefined {
  try {
    const sent = sentSchema.safeParse(JSON.parse(answer));
    return sent.success ? String(sent.data.timestamp) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
