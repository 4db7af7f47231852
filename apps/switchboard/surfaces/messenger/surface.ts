import type { Leader } from '../../cluster/leader.ts';
import type { Plugin } from '../../core/plugin.ts';
import { fromSurface } from '../../core/principals.ts';
import type { SwitchboardOptions } from '../../options.ts';
import type { DeliveryDesk } from '../delivery/delivery-desk.ts';
import { readEnvelope } from './inbound.ts';
import { createMessengerSender } from './outbound.ts';
import { MessengerReceiver } from './receiver.ts';

/** The messenger: texts and groups of Signal, by the bridge. */
export function createMessengerSurface(
  options: SwitchboardOptions,
  desk: DeliveryDesk,
  leader: Leader,
): Plugin {
  const { messengerUrl: url, messengerNumber: number, messengerRecipient: defaultRecipient } = options;
  let receiver: MessengerReceiver | undefined;
  let close: (() => Promise<void>) | undefined;
  return {
    name: 'messenger',
    off: url && number ? undefined : 'Set MESSENGER_URL and MESSENGER_NUMBER to switch it on.',
    async start({ bus, logger }) {
      if (!url || !number) return;
      const send = createMessengerSender({ url, number, defaultRecipient });
      close = await desk.open({ surface: 'messenger', patterns: ['message.outbound.messenger.#'], send });
      const take = async (received: unknown) => {
        const draft = readEnvelope(received);
        if (draft !== undefined) await bus.publish(fromSurface(draft));
      };
      // One of several switchboards listens, so that a message comes in once.
      leader.onChange((token) => {
        receiver?.stop().catch((error: unknown) => logger.warn({ err: error }, 'the receiver did not stop'));
        receiver =
          token === undefined
            ? undefined
            : new MessengerReceiver({ url, number, take, retryMs: options.deliveryRetryMs, logger });
        receiver?.start();
      });
    },
    async stop() {
      await receiver?.stop();
      await close?.();
    },
  };
}
