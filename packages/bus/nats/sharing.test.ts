import { connect } from '@nats-io/transport-node';
import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { gate, itemAt, listen, numbers, patience, recordingLogger } from '../suites/world.suite.ts';

describe.skipIf(natsMissing)(
  `several switchboards on one NATS${natsMissing ? `: ${natsMissing}` : ''}`,
  () => {
    let server: NatsServer;
    let buses: Bus[];
    let prefix = '';
    let worlds = 0;
    beforeAll(async () => {
      server = await startNatsServer();
    });
    afterAll(() => server.stop());
    beforeEach(() => {
      worlds += 1;
      prefix = `share${worlds}`;
      buses = [];
    });
    afterEach(() => Promise.all(buses.map((bus) => bus.stop())));

    async function open(options: Partial<NatsBusOptions> = {}): Promise<Bus> {
      const fast = { drainTimeoutMs: 1000, ackWaitMs: 1000, retainBytes: 20_000_000 };
      const bus = await createNatsBus({ ...fast, ...options, servers: server.url, prefix });
      buses.push(bus);
      return bus;
    }

    const topic = 'message.inbound.x';
    const pattern = 'message.inbound.#';

    it('hear each other', async () => {
      const [one, two] = [await open(), await open()];
      const heard = [await listen(one, 'a.#'), await listen(two, 'a.*')];
      await one.publish({ topic: 'a.b', payload: 'from one' });
      await two.publish({ topic: 'a.c', payload: 'from two' });
      for (const each of heard) {
        await each.count(2);
        expect(new Set(each.payloads())).toEqual(new Set(['from one', 'from two']));
      }
    });

    it.each([
      ['a group', { group: 'crew' }, 'work.x', 'work.*'],
      ['a durable group', { group: 'crew', durable: 'crew' }, topic, pattern],
    ])(
      'share the work of %s: each message once, and all have a part',
      async (_, options, subject, wanted) => {
        // A member that a busy machine holds up for long must not count as gone: its messages would come to the other too.
        const steady = { ackWaitMs: 60_000 };
        const all = [await open(steady), await open(steady)];
        const taken: number[][] = [[], []];
        for (const [index, bus] of all.entries()) {
          await bus.subscribe(
            wanted,
            async ({ payload }) => {
              itemAt(taken, index).push(payload as number);
              await new Promise(setImmediate);
            },
            options,
          );
        }
        await Promise.all(numbers(300).map((payload) => itemAt(all, 0).publish({ topic: subject, payload })));
        await vi.waitFor(() => expect(taken.flat().sort((a, b) => a - b)).toEqual(numbers(300)), patience);
        expect(Math.min(...taken.map((mine) => mine.length))).toBeGreaterThan(30);
      },
    );

    it('with a slow member leave the work to the others', async () => {
      const [one, two] = [await open(), await open()];
      const door = gate();
      const options = { group: 'crew', durable: 'crew' };
      const stuck: unknown[] = [];
      await one.subscribe(
        pattern,
        async ({ payload }) => {
          stuck.push(payload);
          await door.passed;
        },
        options,
      );
      await one.publish({ topic, payload: 'first' });
      await vi.waitFor(() => expect(stuck).toEqual(['first']), patience);
      const quick = await listen(two, pattern, options);
      await Promise.all(numbers(50).map((payload) => one.publish({ topic, payload })));
      await quick.count(50);
      door.open();
    });

    it('take over a durable name, in order, when its process stops, and do not wait for its silence', async () => {
      const late = { ackWaitMs: 10 * patience.timeout };
      const [one, two] = [await open(late), await open(late)];
      const order: unknown[] = [];
      const from = (name: string) => async (message: { payload: unknown }) => {
        order.push(message.payload);
        seen.add(name);
        await new Promise(setImmediate);
      };
      const seen = new Set<string>();
      await one.subscribe(pattern, from('one'), { durable: 'reader' });
      await two.subscribe(pattern, from('two'), { durable: 'reader' });
      const sender = await open();
      const sent = Promise.all(numbers(200).map((payload) => sender.publish({ topic, payload })));
      await vi.waitFor(() => expect(order.length).toBeGreaterThan(50), patience);
      await one.stop();
      await sent;
      await vi.waitFor(() => expect(order).toHaveLength(200), patience);
      expect(order).toEqual(numbers(200));
      expect(seen).toContain('two');
    });

    it('know a message id that another has published', async () => {
      const [one, two] = [await open(), await open()];
      const heard = await listen(two, pattern, { durable: 'reader' });
      await one.publish({ topic, id: 'nightly@1', payload: 'one' });
      await two.publish({ topic, id: 'nightly@1', payload: 'two' });
      await one.publish({ topic, payload: 'end' });
      await heard.count(2);
      expect(heard.payloads()).toEqual(['one', 'end']);
    });

    it('hold a lease one at a time; the next holder has a larger token', async () => {
      const [one, two] = [await open(), await open()];
      const changes: unknown[] = [];
      const first = await one.lease('scheduler', { ttlMs: 10_000, onChange: (token) => changes.push(token) });
      const second = await two.lease('scheduler', { ttlMs: 10_000 });
      const other = await two.lease('other', { ttlMs: 10_000 });
      const token = await first.confirm();
      expect([first.token, second.token]).toEqual([token, undefined]);
      expect(other.token).toBeTypeOf('number');
      await expect(second.confirm()).rejects.toMatchObject({ code: 'lease_lost' });
      await one.stop();
      expect(changes).toEqual([token, undefined]);
      await vi.waitFor(() => expect(second.token).toBeGreaterThan(token), patience);
      expect(await second.confirm()).toBe(second.token);
    });

    it('keep a lease for as long as they renew it', async () => {
      const bus = await open();
      const changes: unknown[] = [];
      const lease = await bus.lease('long', { ttlMs: 3000, onChange: (token) => changes.push(token) });
      const started = performance.now();
      await vi.waitFor(() => expect(performance.now() - started).toBeGreaterThan(7000), patience);
      expect(changes).toEqual([lease.token]);
    });

    it('ignore what is no message of theirs, and say so', async () => {
      const logger = recordingLogger();
      const bus = await open({ logger });
      const live = await listen(bus, pattern);
      const durable = await listen(bus, pattern, { durable: 'reader' });
      const stranger = await connect({ servers: server.url });
      stranger.publish(`${prefix}.message.inbound.x.~`, 'not JSON');
      stranger.publish(`${prefix}.message.inbound.x.~`, '{"topic":"message.inbound.x"}');
      await stranger.flush();
      await stranger.close();
      await bus.publish({ topic, payload: 'real' });
      await Promise.all([live.count(1), durable.count(1)]);
      expect([live.payloads(), durable.payloads()]).toEqual([['real'], ['real']]);
      expect(logger.lines.filter(({ text }) => text.includes('message from NATS'))).toHaveLength(4);
      expect(await bus.history()).toHaveLength(1);
    });
  },
);
