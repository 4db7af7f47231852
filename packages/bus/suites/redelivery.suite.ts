import { NonRetryableError } from '@trunkline/bus';
import { StorageError } from '@trunkline/storage';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, numbers, patience, type World, type WorldFactory } from './world.suite.ts';

/** What every engine does with doubled, failing and forgotten things on durable topics. */
export function describeRedelivery(createWorld: WorldFactory): void {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  afterEach(() => world.close());

  const topic = 'message.inbound.a';
  const pattern = 'message.inbound.#';

  describe('a message published twice under one id', () => {
    it('is accepted twice and brought once, to every kind of subscriber', async () => {
      const bus = await world.open();
      const durable = await listen(bus, pattern, { durable: 'reader' });
      const live = await listen(bus, pattern);
      const draft = { topic, id: 'nightly@2026-01-01', payload: 1 };
      const answers = await Promise.all([bus.publish(draft), bus.publish(draft)]);
      answers.push(await bus.publish(draft));
      expect(answers.map(({ id }) => id)).toEqual([
        'nightly@2026-01-01',
        'nightly@2026-01-01',
        'nightly@2026-01-01',
      ]);
      await bus.publish({ topic, payload: 'end' });
      await Promise.all([durable.count(2), live.count(2)]);
      expect([durable.payloads(), live.payloads()]).toEqual([
        [1, 'end'],
        [1, 'end'],
      ]);
      expect(await bus.history()).toHaveLength(2);
    });
  });

  describe('a durable handler that fails', () => {
    it('for want of room on the disk is tried until there is some, and nothing is buried', async () => {
      const bus = await world.open({ retryDelayMs: 1 });
      const attempts: number[] = [];
      await bus.subscribe(
        pattern,
        (_, { attempt }) => {
          attempts.push(attempt);
          const full = new StorageError('disk_full', 'The disk is full.');
          if (attempt < 9) throw attempt % 2 === 0 ? full : new Error('not kept', { cause: full });
        },
        { durable: 'reader' },
      );
      await bus.publish({ topic, payload: 'patient' });
      await vi.waitFor(() => expect(attempts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]), patience);
      expect(await bus.deadLetters()).toEqual([]);
    });

    it('gets the message again, with the number of the attempt, before the next one', async () => {
      const bus = await world.open({ retryDelayMs: 1 });
      const errors = await listen(bus, 'system.error');
      const seen: unknown[] = [];
      await bus.subscribe(
        pattern,
        ({ payload }, { attempt }) => {
          seen.push([payload, attempt]);
          if (payload === 'hard' && attempt < 3) throw new Error(`no ${attempt}`);
        },
        { durable: 'reader', plugin: 'p' },
      );
      await bus.publish({ topic, payload: 'hard' });
      await bus.publish({ topic, payload: 'easy' });
      await vi.waitFor(() => expect(seen).toHaveLength(4), patience);
      expect(seen).toEqual([
        ['hard', 1],
        ['hard', 2],
        ['hard', 3],
        ['easy', 1],
      ]);
      await errors.count(2);
      expect(errors.payloads()).toEqual([
        expect.objectContaining({ error: 'no 1', attempt: 1, durable: 'reader', plugin: 'p', buried: false }),
        expect.objectContaining({ error: 'no 2', attempt: 2 }),
      ]);
      expect(await bus.deadLetters()).toEqual([]);
    });

    it('for good becomes a dead letter at once, which can be replayed', async () => {
      const bus = await world.open({ retryDelayMs: 60_000 });
      const errors = await listen(bus, 'system.error');
      let isMended = false;
      const seen: number[] = [];
      await bus.subscribe(
        pattern,
        (_, { attempt }) => {
          seen.push(attempt);
          if (!isMended) throw new NonRetryableError('nobody is there');
        },
        { durable: 'reader' },
      );
      await bus.publish({ topic, payload: 'hopeless' });
      await errors.count(1);
      expect(errors.payloads()).toEqual([
        expect.objectContaining({ error: 'nobody is there', attempt: 1, buried: true }),
      ]);
      const [letter] = await vi.waitFor(async () => {
        const letters = await bus.deadLetters();
        expect(letters).toMatchObject([{ durable: 'reader', attempts: 1, error: 'nobody is there' }]);
        return letters;
      }, patience);
      isMended = true;
      await bus.replay({ deadLetterId: letter?.id ?? '' });
      await vi.waitFor(() => expect(seen).toHaveLength(2), patience);
      expect(await bus.deadLetters()).toEqual([]);
    });

    it('keeps count over a restart', async () => {
      const options = { retryDelayMs: 60_000, maxAttempts: 3 };
      const attempts: number[] = [];
      for (const round of [1, 2]) {
        const bus = await world.open(options);
        await bus.subscribe(
          pattern,
          (_, { attempt }) => {
            attempts.push(attempt);
            throw new Error('always');
          },
          { durable: 'reader' },
        );
        if (round === 1) await bus.publish({ topic, payload: 1 });
        await vi.waitFor(() => expect(attempts).toHaveLength(round), patience);
        await bus.stop();
      }
      expect(attempts).toEqual([1, 2]);
    });
  });

  describe('what was finished while an earlier message still waited', () => {
    const options = { durable: 'reader', concurrency: 2 };

    it('does not come again after a restart, but does when the cursor is set back', async () => {
      let bus = await world.open();
      const finished: unknown[] = [];
      await bus.subscribe(
        pattern,
        async ({ payload }, { stopping }) => {
          if (payload === 'asks') await untilStopping(stopping);
          finished.push(payload);
        },
        options,
      );
      for (const payload of ['asks', ...numbers(20)]) await bus.publish({ topic, payload });
      await vi.waitFor(() => expect(finished).toEqual(numbers(20)), patience);
      await bus.stop();
      bus = await world.open();
      const again = await listen(bus, pattern, options);
      await bus.publish({ topic, payload: 'new' });
      await again.count(2);
      expect(again.payloads().toSorted()).toEqual(['asks', 'new']);
      await bus.replay({ durable: 'reader', after: 0 });
      await again.count(24);
    });
  });

  describe('a subscriber that falls silent', () => {
    it('is forgotten after the stated time, and nobody else is', async () => {
      const bus = await world.open({ forgetAfterMs: 1000, maintainEveryMs: 20 });
      const silent = await bus.subscribe(pattern, () => undefined, { durable: 'silent' });
      const steady = await listen(bus, pattern, { durable: 'steady' });
      await silent.unsubscribe();
      await bus.publish({ topic, payload: 1 });
      // Asking counts as a sign of life, so it must not be done too often.
      await vi.waitFor(
        async () => {
          const asked = bus.replay({ durable: 'silent', after: 0 });
          await expect(asked).rejects.toMatchObject({ code: 'durable_unknown' });
        },
        { ...patience, interval: 2500 },
      );
      await bus.publish({ topic, payload: 2 });
      await steady.count(2);
      await bus.replay({ durable: 'steady', after: 0 });
      await steady.count(4);
    });
  });
}

/** A handler that waits for somebody gives up when the bus begins to stop. */
function untilStopping(stopping: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    stopping.addEventListener('abort', () => reject(new Error('The bus stops.')));
  });
}
