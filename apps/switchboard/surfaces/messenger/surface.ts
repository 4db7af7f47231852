import { escapeSegment } from '@trunkline/bus';
import { group, text, url } from '@trunkline/config';
import { fromSurface } from '../../core/principals.ts';
import { defineSurface } from '../surface.ts';
import { readEnvelope } from './inbound.ts';
import { createMessengerSender } from './outbound.ts';
import { MessengerReceiver } from './receiver.ts';

const variables = 'MESSENGER_URL and MESSENGER_NUMBER';

const options = group('Messenger', {
  messengerUrl: url({
    env: 'MESSENGER_URL',
    doc: "Address of a bridge to Signal (signal-cli's REST API); with MESSENGER_NUMBER it switches the surface on.",
  }),
  messengerNumber: text({ env: 'MESSENGER_NUMBER', doc: 'The number that the bridge is signed in with.' }),
  messengerRecipient: text({
    env: 'MESSENGER_RECIPIENT',
    doc: 'Who gets what names nobody, such as the results of schedules.',
  }),
});

/** The messenger (Signal): texts to people and groups, by the bridge. */
export const messengerSurface = defineSurface({
  name: 'messenger',
  options,
  variables,
  carriesQuestions: true,
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
      async start({ bus, logger }) {
        if (!messengerUrl || !number) return;
        const send = createMessengerSender({ url: messengerUrl, number, defaultRecipient });
        close = await deliveries.open({
          surface: 'messenger',
          patterns: ['message.outbound.messenger.#'],
          send,
        });
        const take = async (received: unknown) => {
          const draft = readEnvelope(received);
          if (draft !== undefined) await bus.publish(fromSurface(draft));
        };
        const retryMs = settings.deliveryRetryMs;
        // One of several switchboards listens, so that a message comes in once.
        leader.onChange((term) => {
          receiver?.stop().catch((error: unknown) => logger.warn({ err: error }, 'failed to stop receiver'));
          receiver =
            term === undefined
              ? undefined
              : new MessengerReceiver({ url: messengerUrl, number, take, retryMs, logger });
          receiver?.start();
        });
      },
      async stop() {
        await receiver?.stop();
        await close?.();
      },
    };
  },
  diagnose({ messengerUrl, messengerNumber }) {
    if (messengerUrl === undefined || messengerNumber === undefined) return undefined;
    return async (signal) => {
      const response = await fetch(`${messengerUrl.replace(/\/+$/, '')}/v1/about`, { signal });
      if (!response.ok) throw new Error(`The bridge answered ${response.status}.`);
      return 'the bridge runs';
    };
  },
});
