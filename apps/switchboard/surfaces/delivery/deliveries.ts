import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Bus, Message } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Delivery } from '../../api-types.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { SharedRows } from '../../cluster/row-replica.ts';
import { redactMessage } from '../../control/redact.ts';
import type { Plugin, PluginContext } from '../../core/plugins.ts';
import { hourly } from '../../core/timers.ts';
import { retryAfterSeconds, throwBusFailure } from '../../errors.ts';
import { messageFilter, type SwitchboardEnv } from '../../routes/guards.ts';
import { type DeliveryQuery, DeliveryStore, type SharedDelivery } from './delivery-store.ts';
import { Outbox, type Outlet } from './outbox.ts';

const errors = defineErrors({
  delivery_unknown: [
    404,
    ({ id }: { id: string }) =>
      `There is no failed delivery ${id} of a surface that is on; GET /api/deliveries?state=failed lists them.`,
  ],
  delivery_unsure: [
    503,
    ({ id }: { id: string }) =>
      `There is no failed delivery ${id} here, and another switchboard, which may have it, does not answer: try again.`,
  ],
  message_gone: [
    410,
    ({ id }: { id: string }) =>
      `The switchboard that failed to deliver ${id} is gone, and its message is no longer in the journal of the bus; publish it anew.`,
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

/** Messages of a correlation searched for that of a delivery. */
const searched = 1000;

/** By then the others have the copy of whoever took a delivery over. */
const claimedMs = 60 * 60 * 1000;

/** Starts before the surfaces and stops after them. */
export interface Deliveries extends Plugin {
  /** What the switchboards share. */
  shared: SharedRows<SharedDelivery>;
  /** Starts to deliver what the outlet subscribes to; returns a function that ends it. */
  open(outlet: Outlet): Promise<() => Promise<void>>;
  /** Records a message that nobody can deliver now; a replay hands it to the outlet of that name. */
  refuse(surface: string, message: Message, why: string): void;
  /** Whether there is an outlet of that name. */
  isOpen(surface: string): boolean;
}

export function createDeliveries(): Deliveries {
  let running: Running | undefined;
  let stopSweeping: (() => void) | undefined;
  return {
    name: 'deliveries',
    description: 'Sends answers and messages to surfaces, tries again and records what arrived.',
    shared: sharedDeliveries(() => running),
    mount: (app, { bus, peers }) => {
      const own = (asked: DeliveryQuery) => running?.store.list(asked) ?? [];
      const replay = (id: string) => running?.outbox.replay(id) ?? false;
      peers.offer('deliveries', (asked, principal) => own({ ...query.parse(asked), principal }));
      // Only the operator's route asks for it.
      peers.offer('delivery.replay', ({ id }) => replay(String(id)) || undefined);
      const copies = (asked: DeliveryQuery) =>
        (running?.elsewhere?.list(asked) ?? []).map((delivery) => ({
          delivery,
          node: running?.elsewhere?.nodeOf(delivery.id) ?? '',
        }));
      const takeOver = async (id: string) =>
        running?.elsewhere === undefined ? 'unknown' : await takenOver(id, running, bus, peers);
      mountDeliveries(app, bus, peers, { own, copies, replay, takeOver });
    },
    async start({ bus, home, logger, options }: PluginContext) {
      const store = new DeliveryStore(join(home, 'deliveries.db'));
      const isShared = bus.status().engine !== 'embedded';
      const elsewhere = isShared ? new DeliveryStore(join(home, 'deliveries-elsewhere.db')) : undefined;
      const outbox = new Outbox({ bus, store, logger, retryMs: options.deliveryRetryMs });
      running = { store, elsewhere, outbox };
      stopSweeping = hourly(() => {
        store.sweep();
        elsewhere?.sweep();
      }, logger);
    },
    async stop() {
      stopSweeping?.();
      await running?.outbox.stop();
      running?.store.close();
      running?.elsewhere?.close();
      running = undefined;
    },
    open(outlet) {
      if (running === undefined) throw new Error('The deliveries did not start; the log says why.');
      return running.outbox.open(outlet);
    },
    isOpen: (surface) => running?.outbox.isOpen(surface) ?? false,
    refuse(surface, message, why) {
      running?.store.refuse(surface, message, why);
    },
  };
}

interface Running {
  store: DeliveryStore;
  /** Copies of the deliveries of other switchboards, where others share the bus. */
  elsewhere: DeliveryStore | undefined;
  outbox: Outbox;
}

/** The deliveries of this switchboard for the others, and theirs for this one. */
function sharedDeliveries(running: () => Running | undefined): SharedRows<SharedDelivery> {
  return {
    subject: 'deliveries',
    onChange: (listener) => running()?.store.onChange(listener),
    read(id) {
      const row = running()?.store.shared(id);
      // Whoever had it before is gone.
      if (row !== undefined) running()?.elsewhere?.drop(id);
      return row;
    },
    newest: (limit, since) => running()?.store.newest(limit, since) ?? [],
    take(row, node) {
      const { store, elsewhere } = running() ?? {};
      (store?.get(row.id) === undefined ? elsewhere : store)?.take(row, node);
    },
  };
}

/** Queues a failed delivery of a switchboard that is gone, from the part that failed. */
async function takenOver(
  id: string,
  { store, elsewhere, outbox }: Running,
  bus: Bus,
  peers: Peers,
): Promise<'queued' | 'unknown' | 'unsure' | 'gone'> {
  const delivery = elsewhere?.shared(id);
  if (delivery?.state !== 'failed' || !outbox.canDeliver(delivery)) return 'unknown';
  const owner = elsewhere?.nodeOf(id) ?? '';
  if (!peers.isGone(owner)) return 'unsure';
  const { topic, correlationId, updatedAt } = delivery;
  const entries = await bus.history({ topic, correlationId, limit: searched }).catch(throwBusFailure);
  const message = entries.find((entry) => entry.message.id === id)?.message;
  if (message === undefined) return 'gone';
  if (!(await claim(`${id} ${owner} ${updatedAt}`, bus, peers))) return 'unsure';
  // Meanwhile another request may have queued it here, or its owner may have shared a later state.
  if (elsewhere?.get(id)?.updatedAt !== updatedAt || !store.adopt(delivery, message)) return 'unknown';
  elsewhere.drop(id);
  return outbox.replay(id) ? 'queued' : 'unknown';
}

/** Of several switchboards that are asked at once, one sends it. One that died after its claim is succeeded. */
async function claim(subject: string, bus: Bus, peers: Peers): Promise<boolean> {
  const claims = await bus.memory('deliveries', { ttlMs: claimedMs }).catch(throwBusFailure);
  const [self] = peers.list();
  const own = `${self?.node} ${self?.startedAt}`;
  let key = hashOf(subject);
  for (;;) {
    const holder = await claims.keep(key, own).catch(throwBusFailure);
    const next = hashOf(`${key} ${holder}`);
    // One that stood still meanwhile may have been taken for dead.
    if (holder === own) return (await claims.recall(next).catch(throwBusFailure)) === undefined;
    if (!isDead(holder, peers)) return false;
    key = next;
  }
}

/** Whether the process that made a claim has ended, also where another runs in its place. */
function isDead(holder: string, peers: Peers): boolean {
  const [, node = holder, startedAt] = /^(.*) (\d+)$/.exec(holder) ?? [];
  const known = peers.list().find((peer) => peer.node === node);
  // Earlier versions did not say when they had started.
  if (known === undefined || startedAt === undefined) return peers.isGone(node);
  return String(known.startedAt) !== startedAt;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface DeliveryRecords {
  own(query: DeliveryQuery): Delivery[];
  /** Copies of those of others, with the switchboard that each is of. */
  copies(query: DeliveryQuery): { delivery: Delivery; node: string }[];
  replay(id: string): boolean;
  takeOver(id: string): Promise<'queued' | 'unknown' | 'unsure' | 'gone'>;
}

/** Lists and replays deliveries. */
function mountDeliveries(app: Hono<SwitchboardEnv>, bus: Bus, peers: Peers, records: DeliveryRecords): void {
  const list = describeRoute({
    summary: 'Messages to the outside and what became of them, the newest first',
  });
  app.get('/api/deliveries', list, validate('query', query), async (context) => {
    const asked = context.req.valid('query');
    const principal = context.get('principal');
    // One that is heard first while the others answer was not asked.
    const alive = new Set(peers.list().map(({ node }) => node));
    const { lists, gap } = await peers.askForList<Delivery>('deliveries', asked, principal);
    // Who answers has said which of its own are in this state now.
    const copies = records
      .copies({ ...asked, principal })
      .filter(({ node }) => gap.incomplete || !alive.has(node))
      .map(({ delivery }) => delivery);
    const deliveries = latestOf([...copies, ...records.own({ ...asked, principal }), ...lists.flat()]);
    const shown = deliveries.slice(0, asked.limit);
    return context.json({ success: true, ...gap, data: { count: shown.length, deliveries: shown } });
  });
  const { delivery_unknown, delivery_unsure, message_gone } = errors;
  const again = describeRoute({
    summary: 'Tries a failed delivery once more, from the part that failed',
    errors: [delivery_unknown, delivery_unsure, message_gone],
  });
  app.post('/api/deliveries/:id/replay', again, async (context) => {
    const id = context.req.param('id');
    const queued = () => context.json({ success: true, data: { id, state: 'queued' } }, 202);
    if (records.replay(id)) return queued();
    const { answers, gap } = await peers.askWithGap('delivery.replay', { id }, context.get('principal'));
    if (answers.length > 0) return queued();
    const outcome = await records.takeOver(id);
    if (outcome === 'queued') return queued();
    if (outcome === 'gone') throw message_gone({ id });
    const isUnsure = outcome === 'unsure' || gap.incomplete;
    if (isUnsure) throw delivery_unsure({ id }, { headers: { 'retry-after': String(retryAfterSeconds) } });
    throw delivery_unknown({ id });
  });
  mountDeadLetters(app, bus);
}

/** Each once, as it was changed last; the newest first. */
function latestOf(all: readonly Delivery[]): Delivery[] {
  const latest = new Map<string, Delivery>();
  for (const delivery of all)
    if (delivery.updatedAt >= (latest.get(delivery.id)?.updatedAt ?? 0)) latest.set(delivery.id, delivery);
  return [...latest.values()].toSorted((one, other) => other.updatedAt - one.updatedAt);
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
