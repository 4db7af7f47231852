import { maximumMessageBytes } from '@trunkline/bus';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  gate,
  heard,
  itemAt,
  listen,
  numbers,
  patience,
  recordingLogger,
  type World,
  type WorldFactory,
} from './world.suite.ts';

/** What every engine does with subscribers that have no cursor. */
export function describeDelivery(createWorld: WorldFactory): void {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  afterEach(() => world.close());

  describe('publish and subscribe', () => {
    it('brings a message to everyone whose pattern matches, and to nobody else', async () => {
      const bus = await world.open();
      const patterns = ['x.a', 'x.*', 'x.#', 'x.a.#', '#', '*.a', 'x', 'x.b', '*.*.*'];
      const all = await Promise.all(patterns.map((pattern) => listen(bus, pattern)));
      const answer = await bus.publish({ topic: 'x.a', payload: 1, correlationId: 'c' });
      expect(answer).toEqual({ id: expect.any(String), correlationId: 'c' });
      await bus.publish({ topic: 'x', payload: 2 });
      await bus.publish({ topic: 'end', payload: 'end' });
      await itemAt(all, 4).count(3);
      const matched = Object.fromEntries(
        patterns.map((pattern, index) => [pattern, itemAt(all, index).payloads()]),
      );
      expect(matched).toEqual({
        'x.a': [1],
        'x.*': [1],
        'x.#': [1, 2],
        'x.a.#': [1],
        '#': [1, 2, 'end'],
        '*.a': [1],
        x: [2],
        'x.b': [],
        '*.*.*': [],
      });
    });

    it('gives the whole message, frozen', async () => {
      const bus = await world.open();
      const seen = await listen(bus, 'message.inbound.#');
      const draft = {
        topic: 'message.inbound.chat.7',
        payload: { content: 'grüß dich 👋', nested: [1, null, true] },
        correlationId: 'conversation 1',
        parentId: 'parent',
        source: { interface: 'chat', channelId: '7', userId: 'u' },
        reply: { topic: 'message.outbound.chat.7', format: 'markdown' },
        principal: { kind: 'person' as const, id: 'chat:u', via: ['switchboard'], role: 'guest' as const },
      };
      const { id } = await bus.publish(draft);
      await seen.count(1);
      expect(seen.messages).toEqual([{ ...draft, id, timestamp: expect.any(Number) }]);
      expect(Object.isFrozen(itemAt(seen.messages, 0).payload)).toBe(true);
    });

    it('refuses what is no topic, no pattern, no JSON or too large', async () => {
      const bus = await world.open();
      const refused = (code: string) => expect.objectContaining({ name: 'BusError', code });
      await expect(bus.publish({ topic: 'a..b', payload: 1 })).rejects.toEqual(refused('topic_refused'));
      await expect(bus.publish({ topic: 'a', payload: new Date() })).rejects.toEqual(
        refused('message_refused'),
      );
      const large = { topic: 'message.inbound.a', payload: 'x'.repeat(maximumMessageBytes) };
      await expect(bus.publish(large)).rejects.toEqual(refused('message_too_large'));
      const ignore = () => undefined;
      await expect(bus.subscribe('a.#.b', ignore)).rejects.toEqual(refused('pattern_refused'));
      await expect(bus.subscribe('a', ignore, { group: 'a b' })).rejects.toEqual(refused('name_refused'));
      await expect(bus.subscribe('a', ignore, { concurrency: 0 })).rejects.toEqual(
        refused('options_refused'),
      );
    });

    it('carries a message of almost the largest size, journalled or not', async () => {
      const bus = await world.open();
      const seen = await listen(bus, '#');
      const payload = 'x'.repeat(maximumMessageBytes - 500);
      await bus.publish({ topic: 'message.inbound.a', payload });
      await bus.publish({ topic: 'other', payload });
      await seen.count(2);
      expect(seen.payloads()).toEqual([payload, payload]);
    });

    it.each(['plain.topic', 'message.inbound.topic'])(
      'keeps the order of each publisher on %s',
      async (topic) => {
        const bus = await world.open();
        const seen = await listen(bus, topic, { queueLimit: 2000 });
        const publisher = (name: string) =>
          Promise.all(numbers(300).map((number) => bus.publish({ topic, payload: { name, number } })));
        await Promise.all([publisher('a'), publisher('b')]);
        await seen.count(600);
        for (const name of ['a', 'b']) {
          const mine = seen.payloads().filter((payload) => (payload as { name: string }).name === name);
          expect(mine).toEqual(numbers(300).map((number) => ({ name, number })));
        }
      },
    );

    it('stops bringing messages after unsubscribe', async () => {
      const bus = await world.open();
      const seen: unknown[] = [];
      const subscription = await bus.subscribe('a', ({ payload }) => void seen.push(payload));
      const end = await listen(bus, 'a');
      await bus.publish({ topic: 'a', payload: 1 });
      await vi.waitFor(() => expect(seen).toEqual([1]), patience);
      await subscription.unsubscribe();
      await subscription.unsubscribe();
      await bus.publish({ topic: 'a', payload: 2 });
      await end.count(2);
      expect(seen).toEqual([1]);
    });
  });

  describe('handlers', () => {
    it('run one at a time for each subscription, unless more are asked for', async () => {
      const bus = await world.open();
      const peaks: Record<string, number> = {};
      const watch = (name: string) => {
        let running = 0;
        return async () => {
          running += 1;
          peaks[name] = Math.max(peaks[name] ?? 0, running);
          await new Promise(setImmediate);
          running -= 1;
        };
      };
      await bus.subscribe('a', watch('one'));
      await bus.subscribe('a', watch('three'), { concurrency: 3 });
      const end = await listen(bus, 'a');
      await Promise.all(numbers(50).map((payload) => bus.publish({ topic: 'a', payload })));
      await end.count(50);
      await vi.waitFor(() => expect(peaks).toEqual({ one: 1, three: 3 }), patience);
    });

    it('that are slow do not hold up others', async () => {
      const bus = await world.open();
      const door = gate();
      await bus.subscribe('a', () => door.passed);
      const quick = await listen(bus, 'a');
      await Promise.all(numbers(20).map((payload) => bus.publish({ topic: 'a', payload })));
      await quick.count(20);
      door.open();
    });

    it('that publish are never entered again before they return', async () => {
      const bus = await world.open();
      let depth = 0;
      let deepest = 0;
      let rounds = 0;
      await bus.subscribe('loop', ({ payload }) => {
        depth += 1;
        deepest = Math.max(deepest, depth);
        rounds += 1;
        if ((payload as number) < 3000) void bus.publish({ topic: 'loop', payload: (payload as number) + 1 });
        depth -= 1;
      });
      await bus.publish({ topic: 'loop', payload: 1 });
      await vi.waitFor(() => expect(rounds).toBe(3000), patience);
      expect(deepest).toBe(1);
    });

    it.each(['drop-oldest', 'drop-newest'] as const)(
      'with a full queue lose messages by %s, counted and logged',
      async (policy) => {
        const logger = recordingLogger();
        const bus = await world.open({ logger });
        const door = gate();
        const seen = heard([]);
        const slow = async (message: (typeof seen.messages)[number]) => {
          seen.messages.push(message);
          await door.passed;
        };
        await bus.subscribe('a', slow, { queueLimit: 3, policy, plugin: 'slow-one' });
        await bus.publish({ topic: 'a', payload: 0 });
        await seen.count(1);
        const all = await listen(bus, 'a');
        await Promise.all(numbers(9, 1).map((payload) => bus.publish({ topic: 'a', payload })));
        await all.count(9);
        await vi.waitFor(() => expect(bus.status()).toMatchObject({ dropped: 6, queued: 3 }), patience);
        door.open();
        await seen.count(4);
        expect(seen.payloads()).toEqual(policy === 'drop-oldest' ? [0, 7, 8, 9] : [0, 1, 2, 3]);
        const lines = logger.lines.filter(({ text }) => text.includes('subscriber queue full'));
        expect(lines).toEqual([
          expect.objectContaining({
            level: 'warn',
            details: expect.objectContaining({ pattern: 'a', plugin: 'slow-one', dropped: 1 }),
          }),
        ]);
      },
    );
  });

  describe('a group', () => {
    it('shares the messages among its members, each message once', async () => {
      const bus = await world.open();
      const members = await Promise.all([1, 2].map(() => listen(bus, 'work.*', { group: 'crew' })));
      const other = await listen(bus, 'work.*', { group: 'others' });
      const everyone = await listen(bus, 'work.*');
      await Promise.all(numbers(200).map((payload) => bus.publish({ topic: 'work.x', payload })));
      await Promise.all([other.count(200), everyone.count(200)]);
      await vi.waitFor(
        () => expect(itemAt(members, 0).messages.length + itemAt(members, 1).messages.length).toBe(200),
        patience,
      );
      const taken = members.flatMap((member) => member.payloads() as number[]).sort((a, b) => a - b);
      expect(taken).toEqual(numbers(200));
      expect(Math.min(...members.map((member) => member.messages.length))).toBeGreaterThan(20);
    });
  });

  describe('stop', () => {
    it('lets handlers end and takes what they publish meanwhile; then nothing more', async () => {
      const bus = await world.open();
      const door = gate();
      const begun = heard([]);
      const results = await listen(bus, 'result');
      await bus.subscribe('job', async (message) => {
        begun.messages.push(message);
        await door.passed;
        await bus.publish({ topic: 'result', payload: message.payload });
      });
      await bus.publish({ topic: 'job', payload: 1 });
      await bus.publish({ topic: 'job', payload: 2 });
      await begun.count(1);
      const stopped = bus.stop();
      door.open();
      await stopped;
      expect(results.payloads()).toEqual([1, 2]);
      expect(bus.status().connected).toBe(false);
      await expect(bus.publish({ topic: 'a', payload: 1 })).rejects.toMatchObject({ code: 'stopped' });
      await expect(bus.subscribe('a', () => undefined)).rejects.toMatchObject({ code: 'stopped' });
      await bus.stop();
    });

    it('does not wait for ever: it tells the handler and the log', async () => {
      const logger = recordingLogger();
      const bus = await world.open({ logger, drainTimeoutMs: 50 });
      const { promise, resolve } = Promise.withResolvers<AbortSignal>();
      await bus.subscribe('job', (_, { signal }) => {
        resolve(signal);
        return new Promise(() => undefined);
      });
      await bus.publish({ topic: 'job', payload: 1 });
      const signal = await promise;
      expect(signal.aborted).toBe(false);
      await bus.stop();
      expect(signal.aborted).toBe(true);
      expect(logger.lines.map(({ text }) => text)).toContain('bus stopped with handlers running');
    });
  });
}
