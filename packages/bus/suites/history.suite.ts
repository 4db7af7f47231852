import { type Bus, type HistoryEntry, maximumMessageBytes } from '@trunkline/bus';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gate, itemAt, listen, numbers, patience, type World, type WorldFactory } from './world.suite.ts';

/** What every engine remembers: history, dead letters, replays, leases. */
export function describeHistory(createWorld: WorldFactory): void {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  afterEach(() => world.close());

  const payloadsOf = (entries: { message: { payload: unknown } }[]) =>
    entries.map(({ message }) => message.payload);

  describe('history', () => {
    it('holds what was journalled, by topic, correlation, position and number', async () => {
      const bus = await world.open();
      for (const number of numbers(10)) {
        const topic = number % 2 === 0 ? 'message.inbound.even' : 'message.outbound.odd';
        await bus.publish({ topic, payload: number, correlationId: `c${number % 3}` });
      }
      await bus.publish({ topic: 'agent.skill.progress.x', payload: 'not journalled' });
      const all = await bus.history();
      expect(payloadsOf(all)).toEqual(numbers(10));
      expect(all.map(({ position }) => position)).toEqual(
        [...all.map(({ position }) => position)].sort((a, b) => a - b),
      );
      expect(payloadsOf(await bus.history({ limit: 3 }))).toEqual([7, 8, 9]);
      expect(payloadsOf(await bus.history({ topic: 'message.inbound.#' }))).toEqual([0, 2, 4, 6, 8]);
      expect(payloadsOf(await bus.history({ topic: 'message.*.odd', limit: 2 }))).toEqual([7, 9]);
      expect(payloadsOf(await bus.history({ topic: 'message.inbound' }))).toEqual([]);
      expect(payloadsOf(await bus.history({ correlationId: 'c1' }))).toEqual([1, 4, 7]);
      expect(payloadsOf(await bus.history({ correlationId: 'c1', topic: '*.outbound.*' }))).toEqual([1, 7]);
      expect(payloadsOf(await bus.history({ correlationId: 'c0', limit: 2 }))).toEqual([6, 9]);
      const { position } = itemAt(all, 5);
      expect(payloadsOf(await bus.history({ after: position }))).toEqual([6, 7, 8, 9]);
      expect(
        payloadsOf(await bus.history({ after: position, limit: 1, topic: 'message.outbound.odd' })),
      ).toEqual([7]);
      expect(payloadsOf(await bus.history({ after: position, correlationId: 'c0' }))).toEqual([6, 9]);
      expect(await bus.history({ after: itemAt(all, 9).position })).toEqual([]);
      await expect(bus.history({ topic: 'a.#.b' })).rejects.toMatchObject({ code: 'pattern_refused' });
    });

    it('gives all of a correlation, however large its messages are', async () => {
      const bus = await world.open();
      const payload = 'x'.repeat(900_000);
      for (const number of numbers(8))
        await bus.publish({ topic: 'message.inbound.x', id: `m${number}`, payload, correlationId: 'c' });
      const ids = (entries: HistoryEntry[]) => entries.map(({ message }) => message.id);
      const all = numbers(8).map((number) => `m${number}`);
      expect(ids(await bus.history({ correlationId: 'c' }))).toEqual(all);
      expect(ids(await bus.history({ correlationId: 'c', after: 0 }))).toEqual(all);
      expect(ids(await bus.history({ correlationId: 'c', limit: 6 }))).toEqual(all.slice(2));
    });

    it('outlives a restart', async () => {
      let bus = await world.open();
      expect(await bus.history()).toEqual([]);
      await bus.publish({ topic: 'command.schedule', payload: { action: 'list' }, correlationId: 'c' });
      await bus.stop();
      bus = await world.open();
      expect(payloadsOf(await bus.history({ correlationId: 'c' }))).toEqual([{ action: 'list' }]);
    });

    it('is pruned by age, but not what a durable name has still to handle', async () => {
      const bus = await world.open({ retainMs: 1, maintainEveryMs: 20 });
      const door = gate();
      const seen: unknown[] = [];
      await bus.subscribe(
        'message.inbound.slow',
        async ({ payload }) => {
          await door.passed;
          seen.push(payload);
        },
        { durable: 'slow' },
      );
      await listen(bus, 'message.outbound.#', { durable: 'idle' });
      await bus.publish({ topic: 'message.inbound.other', payload: 'gone' });
      await bus.publish({ topic: 'message.inbound.slow', payload: 1 });
      await bus.publish({ topic: 'message.inbound.slow', payload: 2 });
      await vi.waitFor(async () => expect(payloadsOf(await bus.history())).toEqual([1, 2]), patience);
      door.open();
      await vi.waitFor(async () => expect(await bus.history()).toEqual([]), patience);
      expect(seen).toEqual([1, 2]);
    });

    it('is pruned by size; when nothing may go, publishers are refused and told who is behind', async () => {
      const retainBytes = 2_000_000;
      const bus = await world.open({ retainBytes, maintainEveryMs: 20 });
      const payload = 'x'.repeat(100_000);
      const publishMany = async (count: number) => {
        for (const _ of numbers(count)) await bus.publish({ topic: 'message.inbound.x', payload });
      };
      await publishMany(15);
      await vi.waitFor(() => publishMany(15), patience);
      expect((await bus.history()).length).toBeLessThan(25);
      const door = gate();
      await bus.subscribe('message.inbound.x', () => door.passed, { durable: 'stuck' });
      await expect(publishMany(40)).rejects.toMatchObject({
        code: 'journal_full',
        message: expect.stringContaining('stuck'),
      });
      door.open();
      await vi.waitFor(() => publishMany(1), patience);
    });
  });

  describe('dead letters', () => {
    it('take the largest message with whatever its handler threw', async () => {
      const bus = await world.open({ maxAttempts: 1 });
      const seen: string[] = [];
      await bus.subscribe(
        'cron.#',
        ({ id }) => {
          seen.push(id);
          if (id === 'large') throw new Error('\u0001'.repeat(5000));
        },
        { durable: 'reader' },
      );
      const draft = { topic: 'cron.x', id: 'large', timestamp: Date.now() };
      const around = JSON.stringify({ ...draft, correlationId: 'large', payload: '' }).length;
      await bus.publish({ ...draft, payload: 'x'.repeat(maximumMessageBytes - around) });
      await bus.publish({ topic: 'cron.x', id: 'next', payload: 1 });
      await vi.waitFor(() => expect(seen).toEqual(['large', 'next']), patience);
      const [letter] = await bus.deadLetters();
      expect(letter).toMatchObject({ message: { id: 'large' }, error: expect.stringContaining('\u0001') });
    });

    const topic = 'message.inbound.a';
    const failing = { broken: true };

    async function failingReader(bus: Bus): Promise<unknown[]> {
      const seen: unknown[] = [];
      await bus.subscribe(
        topic,
        ({ payload }, { attempt }) => {
          seen.push(payload);
          if (failing.broken && payload === 'poison') throw new Error(`cannot, attempt ${attempt}`);
        },
        { durable: 'reader' },
      );
      return seen;
    }
    beforeEach(() => {
      failing.broken = true;
    });

    it('keep what failed too often, with the error, and let the next message through', async () => {
      const bus = await world.open({ maxAttempts: 3, retryDelayMs: 1 });
      const errors = await listen(bus, 'system.error');
      const seen = await failingReader(bus);
      const { id } = await bus.publish({ topic, payload: 'poison' });
      await bus.publish({ topic, payload: 'next' });
      await vi.waitFor(() => expect(seen).toEqual(['poison', 'poison', 'poison', 'next']), patience);
      expect(await bus.deadLetters()).toEqual([
        {
          id: expect.any(String),
          durable: 'reader',
          attempts: 3,
          error: 'cannot, attempt 3',
          buriedAt: expect.any(Number),
          message: expect.objectContaining({ id, topic, payload: 'poison' }),
        },
      ]);
      await errors.count(3);
      expect(itemAt(errors.messages, 2).payload).toMatchObject({ buried: true, attempt: 3 });
    });

    it('can be replayed to the name that failed, and to nobody else', async () => {
      const bus = await world.open({ maxAttempts: 2, retryDelayMs: 1 });
      const seen = await failingReader(bus);
      const other = await listen(bus, topic, { durable: 'other' });
      const live = await listen(bus, topic);
      const { id } = await bus.publish({ topic, payload: 'poison' });
      const letter = await vi.waitFor(async () => {
        const [found] = await bus.deadLetters();
        return found ?? Promise.reject(new Error('no dead letter yet'));
      }, patience);
      failing.broken = false;
      await bus.replay({ deadLetterId: letter.id });
      await vi.waitFor(() => expect(seen).toEqual(['poison', 'poison', 'poison']), patience);
      expect(await bus.deadLetters()).toEqual([]);
      await bus.publish({ topic, payload: 'end' });
      await Promise.all([other.count(2), live.count(2)]);
      expect([other.payloads(), live.payloads()]).toEqual([
        ['poison', 'end'],
        ['poison', 'end'],
      ]);
      expect((await bus.history()).map(({ message }) => message.id)).toEqual([id, expect.any(String)]);
      await expect(bus.replay({ deadLetterId: letter.id })).rejects.toMatchObject({
        code: 'dead_letter_unknown',
      });
      await expect(bus.replay({ deadLetterId: 'nonsense' })).rejects.toMatchObject({
        code: 'dead_letter_unknown',
      });
    });

    it('that fail again on replay come back', async () => {
      const bus = await world.open({ maxAttempts: 1 });
      const seen = await failingReader(bus);
      await bus.publish({ topic, payload: 'poison' });
      const ids = async () => (await bus.deadLetters()).map((letter) => letter.id);
      await vi.waitFor(async () => expect(await ids()).toHaveLength(1), patience);
      const [first] = await ids();
      await bus.replay({ deadLetterId: String(first) });
      await vi.waitFor(async () => {
        expect(seen).toHaveLength(2);
        expect(await ids()).toHaveLength(1);
      }, patience);
      expect(await ids()).not.toContain(first);
    });

    it('outlive a restart, and so does a replay that nobody has taken yet', async () => {
      let bus = await world.open({ maxAttempts: 1 });
      await failingReader(bus);
      await bus.publish({ topic, payload: 'poison' });
      await vi.waitFor(async () => expect(await bus.deadLetters()).toHaveLength(1), patience);
      await bus.stop();
      bus = await world.open({ maxAttempts: 1 });
      const [letter] = await bus.deadLetters();
      failing.broken = false;
      await bus.replay({ deadLetterId: String(letter?.id) });
      await bus.stop();
      bus = await world.open({ maxAttempts: 1 });
      const seen = await failingReader(bus);
      await vi.waitFor(() => expect(seen).toEqual(['poison']), patience);
    });
  });

  describe('a cursor', () => {
    it('can be set back to any point, for its name alone', async () => {
      const bus = await world.open();
      const seen = await listen(bus, 'message.inbound.#', { durable: 'reader' });
      const other = await listen(bus, 'message.inbound.#', { durable: 'other' });
      await Promise.all(numbers(10).map((payload) => bus.publish({ topic: 'message.inbound.a', payload })));
      await Promise.all([seen.count(10), other.count(10)]);
      const entries = await bus.history();
      await bus.replay({ durable: 'reader', after: itemAt(entries, 6).position });
      await seen.count(13);
      await bus.publish({ topic: 'message.inbound.a', payload: 10 });
      await seen.count(14);
      expect(seen.payloads()).toEqual([...numbers(10), 7, 8, 9, 10]);
      await bus.replay({ durable: 'reader', after: 0 });
      await seen.count(25);
      expect(seen.payloads().slice(14)).toEqual(numbers(11));
      await other.count(11);
      expect(other.payloads()).toEqual(numbers(11));
    });

    it('of an unknown name is refused', async () => {
      const bus = await world.open();
      await expect(bus.replay({ durable: 'nobody', after: 0 })).rejects.toMatchObject({
        code: 'durable_unknown',
      });
    });
  });

  describe('a lease', () => {
    it('is held by the only one who asks, until it is released; its token grows with each start', async () => {
      let bus = await world.open();
      const changes: (number | undefined)[] = [];
      const lease = await bus.lease('scheduler', { ttlMs: 10_000, onChange: (token) => changes.push(token) });
      await vi.waitFor(() => expect(lease.token).toBeTypeOf('number'), patience);
      const first = await lease.confirm();
      expect(lease.token).toBe(first);
      await lease.release();
      expect(lease.token).toBeUndefined();
      await expect(lease.confirm()).rejects.toMatchObject({ code: 'lease_lost' });
      expect(changes).toEqual([first, undefined]);
      await bus.stop();
      bus = await world.open();
      const next = await bus.lease('scheduler', { ttlMs: 10_000 });
      await vi.waitFor(() => expect(next.token).toBeGreaterThan(first), patience);
    });

    it('needs a name and a time', async () => {
      const bus = await world.open();
      await expect(bus.lease('a b', { ttlMs: 1000 })).rejects.toMatchObject({ code: 'name_refused' });
      await expect(bus.lease('a', { ttlMs: 10 })).rejects.toMatchObject({ code: 'options_refused' });
    });
  });
}
