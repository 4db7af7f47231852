import { type Draft, escapeSegment } from '@trunkline/bus';
import { group, type Logger, redact, text, url } from '@trunkline/config';
import { createGuardedFetch } from '@trunkline/http';
import { connectionFailure, errorMessage, KeyedQueue, systemCode } from '@trunkline/std';
import { z } from 'zod';
import { type FileSource, filesAlone } from '../../content/references.ts';
import { derivedId } from '../../core/messages.ts';
import { defineSurface } from '../surface.ts';
import { createMessengerSender } from './outbound.ts';

const envelopeSchema = z.object({
  envelope: z.object({
    source: z.string().nullish(),
    sourceNumber: z.string().nullish(),
    sourceName: z.string().nullish(),
    timestamp: z.number(),
    dataMessage: z
      .object({
        message: z.string().nullish(),
        attachments: z
          .array(
            z.object({
              id: z.string().nullish(),
              contentType: z.string().nullish(),
              filename: z.string().nullish(),
              size: z.number().nullish(),
            }),
          )
          .nullish()
          // A list of another shape must not cost the text.
          .catch([]),
        groupInfo: z.object({ groupId: z.string() }).nullish(),
      })
      .nullish(),
  }),
});

const longestPauseMs = 60_000;
/** A bridge that takes the connection and does not answer is left after this time, and the next attempt is made. */
const openMs = 10_000;
const explainMs = 5000;
/** Messages of one person or group; more are dropped. */
const mostWaiting = 1000;

const variables = 'MESSENGER_URL and MESSENGER_NUMBER';

const options = group('Messenger (Signal)', {
  messengerUrl: url({
    env: 'MESSENGER_URL',
    doc: "Address of a Signal bridge (signal-cli's REST API). It connects Signal together with MESSENGER_NUMBER.",
  }),
  messengerNumber: text({ env: 'MESSENGER_NUMBER', doc: "Phone number of the bridge's account." }),
  messengerRecipient: text({
    env: 'MESSENGER_RECIPIENT',
    doc: 'Number that receives messages without a recipient, such as results of schedules.',
  }),
});

/** Signal, through a signal-cli bridge: texts and files to and from people and groups. */
export const messengerSurface = defineSurface({
  name: 'messenger',
  title: 'Signal',
  guide: "Run signal-cli's REST API and sign it in with a number of its own.",
  options,
  variables,
  carriesQuestions: true,
  provesSender: true,
  schedules: {
    channel: 'messenger',
    topic: (_, sender = 'cron') => `message.outbound.messenger.${escapeSegment(sender)}`,
  },
  create(settings, { deliveries, leader }) {
    const { messengerUrl, messengerNumber: number, messengerRecipient: defaultRecipient } = settings;
    let receiver: MessengerReceiver | undefined;
    let close: (() => Promise<void>) | undefined;
    return {
      off: messengerUrl && number ? undefined : `Set ${variables} to switch it on.`,
      async start({ bus, logger, senders, files }) {
        if (!messengerUrl || !number) return;
        const send = createMessengerSender({ url: messengerUrl, number, defaultRecipient, files });
        close = await deliveries.open({
          surface: 'messenger',
          patterns: ['message.outbound.messenger.#'],
          send,
        });
        const take = async (received: unknown) => {
          const draft = readEnvelope(received);
          if (draft === undefined) return;
          const stamped = senders.stamp(draft, senderOf(draft, defaultRecipient));
          if (!senders.takes(stamped)) return;
          const limit = settings.maxFileMb * 2 ** 20;
          await bus.publish(await files.receive(stamped, attachmentsOf(received, messengerUrl, limit)));
        };
        const retryMs = settings.deliveryRetryMs;
        // Only the leader listens, so that a message comes in once.
        leader.onChange((term) => {
          receiver?.stop().catch((error: unknown) => logger.warn({ err: error }, 'failed to stop receiver'));
          receiver =
            term === undefined
              ? undefined
              : createMessengerReceiver({ url: messengerUrl, number, take, retryMs, logger });
          receiver?.start();
        });
      },
      problem: () => receiver?.problem(),
      async stop() {
        await receiver?.stop();
        await close?.();
      },
    };
  },
  diagnose({ messengerUrl, messengerNumber }) {
    if (messengerUrl === undefined || messengerNumber === undefined) return undefined;
    return async (signal) => {
      const response = await fetch(aboutUrl(messengerUrl), { signal });
      if (!response.ok) throw new Error(`The bridge answered ${response.status}.`);
      return 'the bridge runs';
    };
  },
});

interface ReceiverSettings {
  url: string;
  number: string;
  take(received: unknown): Promise<void>;
  /** The first reconnect delay; later ones are longer. */
  retryMs: number;
  logger: Logger;
}

/** Listens on the bridge's web socket and reconnects. */
function createMessengerReceiver({ url, number, logger, take, retryMs }: ReceiverSettings) {
  let socket: WebSocket | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let stopped = false;
  const queue = new KeyedQueue({ maxWaiting: mostWaiting });
  let problem: string | undefined;

  function start(): void {
    const address = `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/v1/receive/${encodeURIComponent(number)}`;
    const opening = new WebSocket(address);
    socket = opening;
    // An error and a close follow.
    const limit = setTimeout(() => opening.close(), openMs).unref();
    socket.addEventListener('open', () => {
      clearTimeout(limit);
      failures = 0;
      problem = undefined;
      logger.info('messenger receiver started');
    });
    socket.addEventListener('message', ({ data }) => void receive(String(data)));
    socket.addEventListener('close', () => {
      clearTimeout(limit);
      again();
    });
    // A close follows.
    socket.addEventListener('error', () => void explain());
  }

  /** A web socket does not say why it failed; a plain request to the same place does. */
  async function explain(): Promise<void> {
    const cause = await causeAt(url, AbortSignal.timeout(explainMs));
    // Another attempt may have come through meanwhile.
    if (stopped || socket?.readyState === WebSocket.OPEN) return;
    const words = `Cannot receive from the Signal bridge at ${redact(url)}: ${cause}. Check MESSENGER_URL and that the bridge runs.`;
    if (words === problem) return;
    problem = words;
    logger.warn({ problem }, 'failed to reach the messenger bridge');
  }

  async function stop(): Promise<void> {
    stopped = true;
    clearTimeout(timer);
    socket?.close();
    await queue.idle();
  }

  /** Handles the messages of a person or group one at a time, in order: files of one do not hold up the others. */
  async function receive(data: string): Promise<void> {
    try {
      const received: unknown = JSON.parse(data);
      const place = readEnvelope(received)?.source?.channelId ?? '';
      await queue.run(place, () => take(received));
    } catch (error) {
      logger.error({ err: error }, 'failed to handle messenger message');
    }
  }

  function again(): void {
    if (stopped) return;
    const pause = Math.min(longestPauseMs, retryMs * 2 ** Math.min(failures, 10));
    failures += 1;
    timer = setTimeout(() => start(), pause);
  }

  return { start, stop, problem: () => problem };
}

/** Why the bridge cannot be used, in the words of the system. */
async function causeAt(url: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(aboutUrl(url), { signal });
    return response.ok ? 'it does not open the web socket /v1/receive' : `it answers ${response.status}`;
  } catch (error) {
    if (signal.aborted) return connectionFailure('ETIMEDOUT');
    const code = error instanceof Error ? systemCode(error.cause) : undefined;
    return code === undefined ? errorMessage(error) : connectionFailure(code);
  }
}

function aboutUrl(url: string): string {
  return `${url.replace(/\/+$/, '')}/v1/about`;
}

type MessengerReceiver = ReturnType<typeof createMessengerReceiver>;

/** The bridge stores what came with a message, and gives it out by its id. */
function attachmentsOf(received: unknown, url: string, maxBytes: number): FileSource[] {
  const { envelope } = envelopeSchema.parse(received);
  return (envelope.dataMessage?.attachments ?? []).map(({ id, contentType, filename, size }, index) => ({
    // Pictures of Signal often have no name.
    name: filename ?? `${contentType?.split('/')[0] ?? 'file'}-${index + 1}`,
    mediaType: contentType ?? '',
    size: size ?? undefined,
    async read(signal) {
      if (!id) throw new Error('the bridge does not say where it is.');
      const fetch = createGuardedFetch({ allowedHosts: [new URL(url).hostname], maxBytes });
      const { body, status } = await fetch(
        `${url.replace(/\/+$/, '')}/v1/attachments/${encodeURIComponent(id)}`,
        { signal },
      );
      if (status === 200) return body;
      throw new Error(`the bridge answers with ${status}.`);
    },
  }));
}

/** The operator knows whom they have chosen as recipient; of a group only those who are paired. */
export function senderOf({ source }: Pick<Draft, 'source'>, recipient: string | undefined) {
  const userId = source?.userId;
  return { identity: `signal:${userId}`, isListed: userId !== undefined && userId === recipient };
}

/** Undefined for envelopes without text and files, such as receipts. */
export function readEnvelope(received: unknown): Draft | undefined {
  const parsed = envelopeSchema.safeParse(received);
  if (!parsed.success) return undefined;
  const { source, sourceNumber, sourceName, timestamp, dataMessage } = parsed.data.envelope;
  const sender = sourceNumber ?? source;
  const content = dataMessage?.message || (dataMessage?.attachments?.length ? filesAlone : '');
  if (!sender || !dataMessage || content === '') return undefined;
  const group = dataMessage.groupInfo && groupRecipient(dataMessage.groupInfo.groupId);
  const place = group ?? sender;
  return {
    topic: `message.inbound.messenger.${escapeSegment(place)}`,
    payload: {
      content,
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

/** The bridge's recipient name of a group. */
function groupRecipient(groupId: string): string {
  return `group.${Buffer.from(groupId).toString('base64')}`;
}
