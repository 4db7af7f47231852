import { join } from 'node:path';
import type { Bus, Message } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Delivery } from '../../api-types.ts';
import type { Peers } from '../../cluster/peers.ts';
import { redactMessage } from '../../control/redact.ts';
import type { Plugin, PluginContext } from '../../core/plugins.ts';
import { hourly } from '../../core/timers.ts';
import { throwBusFailure } from '../../errors.ts';
import { messageFilter, type SwitchboardEnv } from '../../routes/guards.ts';
import { type DeliveryQuery, DeliveryStore } from './delivery-store.ts';
import { Outbox, type Outlet } from './outbox.ts';

const errors = defineErrors({
  delivery_unknown: [
    404,
    ({ id }: { id: string }) =>
      `There is no failed delivery ${id} of a surface that is on; GET /api/deliveries?state=failed lists them.`,
  ],
  letter_unknown: [
    404,
    ({ id }: { id: string }) => `There is no dead letter ${id}; GET /api/dead-letters lists them.`,
  ],
});

const query = z.object({
  state: z.enum(['queued', 'sent', 'failed']).optional(),
  surface: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

/** Starts before the surfaces and stops after them. */
export interface Deliveries extends Plugin {
  /** Starts to deliver what the outlet subscribes to; returns a function that ends it. */
  open(outlet: Outlet): Promise<() => Promise<void>>;
  /** Records a message that nobody can deliver now; a replay hands it to the outlet of that name. */
  refuse(surface: string, message: Message, why: string): void;
  /** Whether there is an outlet of that name. */
  isOpen(surface: string): boolean;
}

export function createDeliveries(): Deliveries {
  let store: DeliveryStore | undefined;
  let outbox: Outbox | undefined;
  let stopSweeping: (() => void) | undefined;
  return {
    name: 'deliveries',
    mount: (app, { bus, peers }) => {
      const records = {
        list: (query: DeliveryQuery) => store?.list(query) ?? [],
        replay: (id: string) => outbox?.replay(id) ?? false,
      };
      peers.offer('deliveries', (asked, principal) => records.list({ ...query.parse(asked), principal }));
      // Only the operator's route asks for it.
      peers.offer('delivery.replay', ({ id }) => records.replay(String(id)) || undefined);
      mountDeliveries(app, bus, peers, records);
    },
    async start({ bus, home, logger, options }: PluginContext) {
      store = new DeliveryStore(join(home, 'deliveries.db'));
      outbox = new Outbox({ bus, store, logger, retryMs: options.deliveryRetryMs });
      stopSweeping = hourly(() => store?.sweep(), logger);
    },
    async stop() {
      stopSweeping?.();
      await outbox?.stop();
      store?.close();
      [store, outbox] = [undefined, undefined];
    },
    open(outlet) {
      if (outbox === undefined) throw new Error('The deliveries did not start; the log says why.');
      return outbox.open(outlet);
    },
    isOpen: (surface) => outbox?.isOpen(surface) ?? false,
    refuse(surface, message, why) {
      store?.refuse(surface, message, why);
    },
  };
}

interface DeliveryRecords {
  list(query: DeliveryQuery): Delivery[];
  replay(id: string): boolean;
}

/** Lists and replays deliveries. */
function mountDeliveries(app: Hono<SwitchboardEnv>, bus: Bus, peers: Peers, records: DeliveryRecords): void {
  const list = describeRoute({
    summary: 'Messages to the outside and what became of them, the newest first',
  });
  app.get('/api/deliveries', list, validate('query', query), async (context) => {
    const asked = context.req.valid('query');
    const principal = context.get('principal');
    const { lists, gap } = await peers.askForList<Delivery>('deliveries', asked, principal);
    const all = [records.list({ ...asked, principal }), ...lists].flat();
    const deliveries = all.toSorted((one, other) => other.updatedAt - one.updatedAt).slice(0, asked.limit);
    return context.json({ success: true, ...gap, data: { count: deliveries.length, deliveries } });
  });
  const again = describeRoute({
    summary: 'Tries a failed delivery once more, from the part that failed',
    errors: [errors.delivery_unknown],
  });
  app.post('/api/deliveries/:id/replay', again, async (context) => {
    const id = context.req.param('id');
    const isQueued =
      records.replay(id) || (await peers.ask('delivery.replay', { id }, context.get('principal'))).length > 0;
    if (!isQueued) throw errors.delivery_unknown({ id });
    return context.json({ success: true, data: { id, state: 'queued' } }, 202);
  });
  mountDeadLetters(app, bus);
}

function mountDeadLetters(app: Hono<SwitchboardEnv>, bus: Bus): void {
  const list = describeRoute({
    summary: 'Messages that their handler failed on every time, the newest first',
  });
  app.get('/api/dead-letters', list, async (context) => {
    const isSeen = messageFilter(context);
    const all = (await lettersOf(bus)).filter(({ message }) => isSeen(message));
    const letters = all.map((letter) => ({
      ...letter,
      message: redactMessage(letter.message),
    }));
    return context.json({ success: true, data: { count: letters.length, letters: letters.toReversed() } });
  });
  const again = describeRoute({
    summary: 'Brings a dead letter once more to the handler that failed',
    errors: [errors.letter_unknown],
  });
  app.post('/api/dead-letters/:id/replay', again, async (context) => {
    const id = context.req.param('id');
    if (!(await lettersOf(bus)).some((letter) => letter.id === id)) throw errors.letter_unknown({ id });
    await bus.replay({ deadLetterId: id }).catch(throwBusFailure);
    return context.json({ success: true, data: { id } }, 202);
  });
}

function lettersOf(bus: Bus) {
  return bus.deadLetters().catch(throwBusFailure);
}
