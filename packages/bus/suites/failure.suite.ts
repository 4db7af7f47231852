import type { Bus } from '@trunkline/bus';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, patience, recordingLogger, type World, type WorldFactory } from './world.suite.ts';

/** What every engine does when a handler fails, and with requests. */
export function describeFailures(createWorld: WorldFactory): void {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  afterEach(() => world.close());

  describe('system.error', () => {
    it.each([
      [
        'throws',
        () => {
          throw new Error('broken');
        },
      ],
      [
        'rejects',
        async () => {
          throw new Error('broken');
        },
      ],
    ])('comes when a handler %s', async (_, handler) => {
      const logger = recordingLogger();
      const bus = await world.open({ logger });
      const errors = await listen(bus, 'system.error');
      await bus.subscribe('a.*', handler, { plugin: 'fragile' });
      const { id } = await bus.publish({ topic: 'a.b', payload: 1, correlationId: 'c' });
      await errors.count(1);
      expect(errors.messages[0]).toMatchObject({
        correlationId: 'c',
        parentId: id,
        payload: {
          source: 'bus',
          plugin: 'fragile',
          pattern: 'a.*',
          error: 'broken',
          topic: 'a.b',
          messageId: id,
        },
      });
      expect(logger.lines).toContainEqual(
        expect.objectContaining({ level: 'error', details: expect.objectContaining({ messageId: id }) }),
      );
    });

    it('is only logged when its own handler fails, and the bus goes on', async () => {
      const logger = recordingLogger();
      const bus = await world.open({ logger });
      const errors = await listen(bus, 'system.error');
      const failing = () => {
        throw new Error('everything fails');
      };
      await bus.subscribe('#', failing);
      await bus.publish({ topic: 'a', payload: 1 });
      const failuresOf = (topic: string) => logger.lines.filter(({ details }) => details.topic === topic);
      await vi.waitFor(() => expect(failuresOf('system.error')).toHaveLength(1), patience);
      await bus.publish({ topic: 'b', payload: 1 });
      await vi.waitFor(() => expect(failuresOf('system.error')).toHaveLength(2), patience);
      expect(errors.messages.map(({ payload }) => (payload as { topic: string }).topic)).toEqual(['a', 'b']);
    });
  });

  describe('a request', () => {
    async function answerer(bus: Bus): Promise<void> {
      await bus.subscribe('question.*', async ({ reply, payload, correlationId, id }) => {
        if (reply === undefined) return;
        await bus.publish({ topic: reply.topic, payload: { echo: payload }, correlationId, parentId: id });
      });
    }

    it('gets its own answer, many at once', async () => {
      const bus = await world.open();
      await answerer(bus);
      const asked = Array.from({ length: 50 }, (_, number) =>
        bus.request('question.x', number, { timeoutMs: 60_000, correlationId: `c${number}` }),
      );
      const answers = await Promise.all(asked);
      expect(answers.map(({ payload }) => payload)).toEqual(asked.map((_, number) => ({ echo: number })));
      expect(answers.map(({ correlationId }) => correlationId)).toEqual(
        asked.map((_, number) => `c${number}`),
      );
    });

    it('on a journalled topic is answered too', async () => {
      const bus = await world.open();
      await bus.subscribe('command.#', ({ reply }) => {
        if (reply !== undefined) void bus.publish({ topic: reply.topic, payload: 'done' });
      });
      const answer = await bus.request('command.schedule', { action: 'list' }, { timeoutMs: 60_000 });
      expect(answer.payload).toBe('done');
    });

    it('that nobody answers ends in time, with words', async () => {
      const bus = await world.open();
      await expect(bus.request('nobody.here', 1, { timeoutMs: 30 })).rejects.toMatchObject({
        code: 'request_timeout',
        message: expect.stringContaining('nobody.here within 30 ms'),
      });
    });

    it('can be given up by a signal, before or meanwhile', async () => {
      const bus = await world.open();
      const early = bus.request('a', 1, { timeoutMs: 60_000, signal: AbortSignal.abort() });
      await expect(early).rejects.toMatchObject({ code: 'request_aborted' });
      const hasty = new AbortController();
      const atOnce = bus.request('a', 1, { timeoutMs: 60_000, signal: hasty.signal });
      hasty.abort();
      await expect(atOnce).rejects.toMatchObject({ code: 'request_aborted' });
      const controller = new AbortController();
      await bus.subscribe('b', () => controller.abort());
      const late = bus.request('b', 1, { timeoutMs: 60_000, signal: controller.signal });
      await expect(late).rejects.toMatchObject({ code: 'request_aborted' });
    });

    it('is refused when its topic is none', async () => {
      const bus = await world.open();
      await expect(bus.request('a b', 1, { timeoutMs: 1000 })).rejects.toMatchObject({
        code: 'topic_refused',
      });
    });
  });
}
