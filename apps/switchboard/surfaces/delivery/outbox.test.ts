import { join } from 'node:path';
import { type Bus, createEmbeddedBus, type Message } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { FakeClock, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeliveryStore } from './delivery-store.ts';
import { type DeliveryAttempt, DeliveryError, Outbox } from './outbox.ts';

let directory: ReturnType<typeof temporaryDirectory>;
let bus: Bus;
let store: DeliveryStore;
let outbox: Outbox;
let clock: FakeClock;
let told: Message[];
const logger = createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } });

beforeEach(async () => {
  directory = temporaryDirectory();
  clock = new FakeClock(0);
  told = [];
  await openAll();
});
afterEach(async () => {
  await closeAll();
  directory.remove();
});

async function openAll() {
  bus = await createEmbeddedBus({ directory: directory.path, logger });
  store = new DeliveryStore(join(directory.path, 'deliveries.db'));
  outbox = new Outbox({ bus, store, logger, retryMs: 1000, clock });
  await bus.subscribe('delivery.#', (message) => void told.push(message));
}

async function closeAll() {
  await outbox.stop();
  await bus.stop();
  store.close();
}

const open = (send: (attempt: DeliveryAttempt) => Promise<void>) =>
  outbox.open({ surface: 'chat', patterns: ['message.outbound.chat.#'], send });
const publish = (content: string, topic = 'message.outbound.chat.1') =>
  bus.publish({ topic, payload: { content } }).then(({ id }) => id);
const settled = (id: string) =>
  waitFor(() => {
    const delivery = store.get(id);
    return delivery !== undefined && delivery.state !== 'queued' ? delivery : undefined;
  });

/** Moves the clock whenever somebody waits for it. */
async function throughPauses(id: string) {
  await waitFor(async () => {
    if (clock.pendingTimers > 0) await clock.advanceBy(60_000);
    const state = store.get(id)?.state;
    return state !== undefined && state !== 'queued';
  });
}

describe('the outbox', () => {
  it('sends a message once, and records what the other side calls it', async () => {
    const sent: unknown[] = [];
    await open(async ({ message, arrived }) => {
      sent.push(message.payload);
      arrived('remote-1');
    });
    const id = await publish('hello');
    expect(await settled(id)).toMatchObject({
      state: 'sent',
      attempts: 0,
      error: null,
      references: ['remote-1'],
    });
    await waitFor(() => told.length > 0);
    expect(told[0]).toMatchObject({ topic: 'delivery.sent.chat', payload: { id, references: ['remote-1'] } });
    expect(sent).toEqual([{ content: 'hello' }]);
  });

  it('tries again after a pause, and goes on at the part that failed', async () => {
    const parts: string[] = [];
    let failures = 2;
    await open(async ({ done, arrived }) => {
      for (const part of ['a', 'b', 'c'].slice(done.length)) {
        if (part === 'b' && failures-- > 0) throw new Error('the line is down');
        parts.push(part);
        arrived(part);
      }
    });
    const id = await publish('abc');
    await throughPauses(id);
    expect(store.get(id)).toMatchObject({ state: 'sent', attempts: 2, references: ['a', 'b', 'c'] });
    expect(parts).toEqual(['a', 'b', 'c']);
  });

  it('gives up in the end, says why, and can be told to try once more', async () => {
    let isUp = false;
    await open(async () => {
      if (!isUp) throw new Error('no route to host');
    });
    const id = await publish('hello');
    await throughPauses(id);
    expect(store.get(id)).toMatchObject({ state: 'failed', attempts: 6, error: 'no route to host' });
    await waitFor(() => told.length > 0);
    expect(told[0]).toMatchObject({ topic: 'delivery.failed.chat', payload: { error: 'no route to host' } });
    isUp = true;
    expect(outbox.replay(id)).toBe(true);
    expect(await waitFor(() => (store.get(id)?.state === 'sent' ? store.get(id) : undefined))).toBeDefined();
    expect(outbox.replay(id)).toBe(false);
    expect(outbox.replay('unknown')).toBe(false);
  });

  it('does not repeat what was refused for good', async () => {
    let attempts = 0;
    await open(async () => {
      attempts += 1;
      throw new DeliveryError('unknown channel', { permanent: true });
    });
    expect(await settled(await publish('hello'))).toMatchObject({
      state: 'failed',
      error: 'unknown channel',
    });
    expect(attempts).toBe(1);
  });

  it('waits as long as the other side asks', async () => {
    let failures = 1;
    await open(async () => {
      if (failures-- > 0) throw new DeliveryError('slow down', { retryAfterMs: 30_000 });
    });
    const id = await publish('hello');
    await waitFor(() => clock.pendingTimers > 0);
    await clock.advanceBy(29_999);
    expect(store.get(id)?.state).toBe('queued');
    await clock.advanceBy(1);
    expect(await settled(id)).toMatchObject({ state: 'sent' });
  });

  it('keeps the order of a topic, while another topic that cannot be reached holds up nobody', async () => {
    const order: string[] = [];
    let failures = 1;
    await open(async ({ message }) => {
      const { content } = message.payload as { content: string };
      if (message.topic.endsWith('.dead')) throw new Error('dead');
      if (content === 'one' && failures-- > 0) throw new Error('once');
      order.push(content);
    });
    await publish('never', 'message.outbound.chat.dead');
    await publish('one');
    const last = await publish('two');
    await waitFor(() => clock.pendingTimers === 2);
    await clock.advanceBy(1000);
    await settled(last);
    expect(order).toEqual(['one', 'two']);
  });

  it('goes on after a restart with a second try that the stop cut off', async () => {
    await open(async () => {
      throw new DeliveryError('no such place', { permanent: true });
    });
    const id = await publish('once more');
    expect(await settled(id)).toMatchObject({ state: 'failed' });
    await closeAll();
    await openAll();
    const begun = Promise.withResolvers<void>();
    await open(({ signal }) => {
      begun.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    expect(outbox.replay(id)).toBe(true);
    await begun.promise;
    await closeAll();
    await openAll();
    const sent: string[] = [];
    await open(async ({ message }) => void sent.push(message.id));
    expect(await settled(id)).toMatchObject({ state: 'sent' });
    await closeAll();
    await openAll();
    await open(async ({ message }) => void sent.push(message.id));
    const other = await publish('another');
    await settled(other);
    expect(sent).toEqual([id, other]);
  });

  it('brings over after a restart what the stop cut off, and nothing twice', async () => {
    const sent: string[] = [];
    await open(async ({ message, signal }) => {
      const { content } = message.payload as { content: string };
      if (content === 'second') await new Promise((_, reject) => signal.addEventListener('abort', reject));
      sent.push(content);
    });
    await settled(await publish('first'));
    const id = await publish('second');
    await waitFor(() => store.get(id) !== undefined);
    await closeAll();
    await openAll();
    await open(async ({ message }) => void sent.push((message.payload as { content: string }).content));
    await settled(id);
    expect(sent).toEqual(['first', 'second']);
  });
});
