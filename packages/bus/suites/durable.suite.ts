import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  gate,
  heard,
  itemAt,
  listen,
  numbers,
  patience,
  type World,
  type WorldFactory,
} from './world.suite.ts';

/** What every engine does for a subscriber with a cursor. */
export function describeDurable(createWorld: WorldFactory): void {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  afterEach(() => world.close());

  const topic = 'message.inbound.a';
  const pattern = 'message.inbound.#';

  describe('a durable name', () => {
    it('gets, in order, what was published while it had no subscriber', async () => {
      const bus = await world.open();
      const first = await bus.subscribe(pattern, () => undefined, { durable: 'reader' });
      await first.unsubscribe();
      await Promise.all(numbers(50).map((payload) => bus.publish({ topic, payload })));
      const seen = await listen(bus, pattern, { durable: 'reader' });
      await seen.count(50);
      await bus.publish({ topic, payload: 50 });
      await seen.count(51);
      expect(seen.payloads()).toEqual(numbers(51));
    });

    it('goes on after a restart where it was', async () => {
      let bus = await world.open();
      const before = await listen(bus, pattern, { durable: 'reader' });
      await bus.publish({ topic, payload: 'before' });
      await before.count(1);
      await bus.stop();
      bus = await world.open();
      await bus.publish({ topic, payload: 'between' });
      const after = await listen(bus, pattern, { durable: 'reader' });
      await bus.publish({ topic, payload: 'after' });
      await after.count(2);
      expect(after.payloads()).toEqual(['between', 'after']);
    });

    it('begins with what comes after it was made', async () => {
      const bus = await world.open();
      await bus.publish({ topic, payload: 'old' });
      const seen = await listen(bus, pattern, { durable: 'late' });
      await bus.publish({ topic, payload: 'new' });
      await seen.count(1);
      expect(seen.payloads()).toEqual(['new']);
    });

    it('gets everything, whatever other names do', async () => {
      const bus = await world.open();
      const door = gate();
      await bus.subscribe(pattern, () => door.passed, { durable: 'stuck' });
      const one = await listen(bus, pattern, { durable: 'one' });
      const two = await listen(bus, 'message.inbound.*', { durable: 'two' });
      await Promise.all(numbers(30).map((payload) => bus.publish({ topic, payload })));
      await Promise.all([one.count(30), two.count(30)]);
      expect([one.payloads(), two.payloads()]).toEqual([numbers(30), numbers(30)]);
      door.open();
    });

    it('loses nothing when its queue is full: the rest waits in the journal', async () => {
      const bus = await world.open();
      const door = gate();
      const seen = heard([]);
      await bus.subscribe(
        pattern,
        async (message) => {
          seen.messages.push(message);
          await door.passed;
        },
        { durable: 'slow', queueLimit: 5 },
      );
      await Promise.all(numbers(400).map((payload) => bus.publish({ topic, payload })));
      expect(bus.status().queued).toBeLessThanOrEqual(5);
      door.open();
      await seen.count(400);
      expect(seen.payloads()).toEqual(numbers(400));
      expect(bus.status().dropped).toBe(0);
    });

    it('finishes what its handler is at when it unsubscribes, and goes on behind that', async () => {
      const bus = await world.open();
      const door = gate();
      const begun = heard([]);
      const subscription = await bus.subscribe(
        pattern,
        async (message) => {
          begun.messages.push(message);
          await door.passed;
        },
        { durable: 'reader' },
      );
      await Promise.all(numbers(5).map((payload) => bus.publish({ topic, payload })));
      await begun.count(1);
      await subscription.unsubscribe();
      const next = await listen(bus, pattern, { durable: 'reader' });
      door.open();
      await next.count(4);
      expect([...begun.payloads(), ...next.payloads()]).toEqual(numbers(5));
    });

    it('can be forgotten: it begins anew', async () => {
      const bus = await world.open();
      const subscription = await bus.subscribe(pattern, () => undefined, { durable: 'reader' });
      await subscription.forget();
      await bus.publish({ topic, payload: 'missed' });
      const seen = await listen(bus, pattern, { durable: 'reader' });
      await bus.publish({ topic, payload: 'seen' });
      await seen.count(1);
      expect(seen.payloads()).toEqual(['seen']);
    });

    it('may change its pattern between subscribers and keeps its place', async () => {
      const bus = await world.open();
      const first = await bus.subscribe('message.inbound.a', () => undefined, { durable: 'reader' });
      await first.unsubscribe();
      await bus.publish({ topic: 'message.inbound.b', payload: 'b' });
      await bus.publish({ topic: 'message.inbound.a', payload: 'a' });
      const seen = await listen(bus, 'message.inbound.*', { durable: 'reader' });
      await seen.count(2);
      expect(seen.payloads()).toEqual(['b', 'a']);
    });

    it('is refused on topics that are not journalled, and when two subscribers differ', async () => {
      const bus = await world.open();
      const ignore = () => undefined;
      for (const wide of ['#', 'message.*', 'agent.skill.progress.x']) {
        await expect(bus.subscribe(wide, ignore, { durable: 'x' })).rejects.toMatchObject({
          code: 'topic_not_durable',
          message: expect.stringContaining('message.inbound.#'),
        });
      }
      await bus.subscribe(pattern, ignore, { durable: 'x' });
      await expect(bus.subscribe(topic, ignore, { durable: 'x' })).rejects.toMatchObject({
        code: 'durable_conflict',
      });
      const policy = { durable: 'y', policy: 'drop-oldest' } as const;
      await expect(bus.subscribe(pattern, ignore, policy)).rejects.toMatchObject({ code: 'options_refused' });
    });

    it('may stand on topics that the options make durable', async () => {
      const bus = await world.open({ durableTopics: ['flow.#', 'flow.item.created'] });
      const seen = await listen(bus, 'flow.item.*', { durable: 'flows' });
      await bus.publish({ topic: 'flow.item.created', payload: 1 });
      await seen.count(1);
      await expect(listen(bus, pattern, { durable: 'x' })).rejects.toMatchObject({
        code: 'topic_not_durable',
      });
    });

    it('shares its work in a group, each message with one member, also when one leaves', async () => {
      const bus = await world.open();
      const options = { durable: 'crew', group: 'crew' };
      const taken: number[][] = [[], []];
      const members = await Promise.all(
        taken.map((mine) =>
          bus.subscribe(
            pattern,
            async ({ payload }) => {
              mine.push(payload as number);
              await new Promise(setImmediate);
            },
            options,
          ),
        ),
      );
      await Promise.all(numbers(200).map((payload) => bus.publish({ topic, payload })));
      const all = () => taken.flat().sort((a, b) => a - b);
      await vi.waitFor(() => expect(all()).toEqual(numbers(200)), patience);
      expect(Math.min(...taken.map((mine) => mine.length))).toBeGreaterThan(20);
      await itemAt(members, 0).unsubscribe();
      await Promise.all(numbers(20, 200).map((payload) => bus.publish({ topic, payload })));
      await vi.waitFor(() => expect(all()).toEqual(numbers(220)), patience);
    });

    it('without a group hands its messages out one at a time, however many subscribe', async () => {
      const bus = await world.open();
      let running = 0;
      const overlaps: number[] = [];
      const seen: unknown[] = [];
      const handler = async ({ payload }: { payload: unknown }) => {
        running += 1;
        if (running > 1) overlaps.push(running);
        seen.push(payload);
        await new Promise(setImmediate);
        running -= 1;
      };
      await bus.subscribe(pattern, handler, { durable: 'one' });
      await bus.subscribe(pattern, handler, { durable: 'one' });
      await Promise.all(numbers(60).map((payload) => bus.publish({ topic, payload })));
      await vi.waitFor(() => expect(seen).toEqual(numbers(60)), patience);
      expect(overlaps).toEqual([]);
    });
  });
}
