import type { Bus, HistoryQuery } from '@trunkline/bus';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { numbers, type World, type WorldFactory } from './world.suite.ts';

/** Going back through the journal page by page. */
export function describePaging(createWorld: WorldFactory): void {
  describe('the history, page by page', () => {
    let world: World;
    let bus: Bus;
    beforeEach(async () => {
      world = await createWorld();
      bus = await world.open();
    });
    afterEach(() => world.close());

    /** The payloads of all pages, from the newest page on. */
    async function pages(query: HistoryQuery): Promise<unknown[][]> {
      const found: unknown[][] = [];
      let before: number | undefined;
      for (;;) {
        const entries = await bus.history({ ...query, ...(before !== undefined && { before }) });
        if (entries.length === 0) return found;
        found.push(entries.map(({ message }) => message.payload));
        before = entries[0]?.position;
      }
    }

    it('goes back to its beginning, with nothing twice and nothing left out', async () => {
      for (const payload of numbers(10)) {
        const [topic, correlationId] = [
          `message.inbound.${payload % 2 === 0 ? 'even' : 'odd'}`,
          `c${payload % 3}`,
        ];
        await bus.publish({ topic, payload, correlationId });
      }
      expect(await pages({ limit: 4 })).toEqual([
        [6, 7, 8, 9],
        [2, 3, 4, 5],
        [0, 1],
      ]);
      expect(await pages({ limit: 2, topic: 'message.inbound.odd' })).toEqual([[7, 9], [3, 5], [1]]);
      expect(await pages({ limit: 3, correlationId: 'c0' })).toEqual([[3, 6, 9], [0]]);
      expect(await bus.history({ before: 1 })).toEqual([]);
    });

    it('does not shift when more comes meanwhile', async () => {
      for (const payload of numbers(4)) await bus.publish({ topic: 'message.inbound.x', payload });
      const [first] = await bus.history({ limit: 2 });
      await bus.publish({ topic: 'message.inbound.x', payload: 'new' });
      const earlier = await bus.history({ limit: 2, before: first?.position ?? 0 });
      expect(earlier.map(({ message }) => message.payload)).toEqual([0, 1]);
    });
  });
}
