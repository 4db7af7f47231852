import { isDeepStrictEqual } from 'node:util';
import type { Message } from '@trunkline/bus';
import { readOptions } from '@trunkline/config';
import { waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { openBus } from '../core/open-bus.ts';
import type { Json, TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { switchboardOptions } from '../options.ts';

interface SharingBoards {
  /** Two on one bus. */
  boards: () => readonly TestSwitchboard[];
  natsUrl: () => string;
}

/** A message that failed for good is listed at each switchboard, and any of them brings it to its handler again. */
export function describeSharedDeadLetters({ boards, natsUrl }: SharingBoards): void {
  it.each([
    [0, 1],
    [1, 0],
  ] as const)(
    'dead letters, and brings one to its handler again wherever it was published (%i, %i)',
    async (from, to) => {
      const letters = (board: TestSwitchboard) =>
        waitFor(async () => (await board.call('/api/dead-letters')).body.data?.letters as Json[] | undefined);
      const replay = async (index: number, id: string) =>
        (await boards()[index]?.call(`/api/dead-letters/${id}/replay`, {}))?.status;
      // No handler of a switchboard fails for good, so a program on the same bus does.
      const topic = `message.outbound.shelf-${from}`;
      const env = { NATS_URL: natsUrl() };
      const program = await openBus(readOptions(switchboardOptions, { env }), {});
      let isFull = true;
      const taken: Message[] = [];
      const put = (message: Message) => {
        if (isFull) throw new Error('the shelf is full');
        taken.push(message);
      };
      await program.subscribe(topic, put, { durable: `shelf-${from}` });
      try {
        const published = await boards()[from]?.call('/publish', { topic, payload: { content: 'A book' } });
        const [letter] = await waitFor(async () => {
          const [one, other] = await Promise.all(boards().map(letters));
          return isDeepStrictEqual(one, other) && one?.length === 1 ? one : undefined;
        });
        expect(letter).toMatchObject({ durable: `shelf-${from}` });
        expect(letter.error).toContain('the shelf is full');
        expect(letter.message).toMatchObject({ id: published?.body.id, payload: { content: 'A book' } });
        isFull = false;
        expect(await replay(to, letter.id)).toBe(202);
        await waitFor(() => taken.length === 1);
        expect(taken[0]?.id).toBe(published?.body.id);
        // Once it is off the list it cannot be brought again, wherever that is tried.
        for (const index of boards().keys()) expect(await replay(index, letter.id)).toBe(404);
        expect(await Promise.all(boards().map(letters))).toEqual([[], []]);
        expect(taken).toHaveLength(1);
      } finally {
        await program.stop();
      }
    },
  );
}
