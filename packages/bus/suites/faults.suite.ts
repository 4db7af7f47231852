import { join } from 'node:path';
import { type Child, type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAccepted } from '../fixtures/accepted-log.ts';
import { Effects } from '../fixtures/effects.ts';
import { type BusPlace, openBus } from '../fixtures/open-bus.ts';
import { childStarter } from './children.suite.ts';
import { numbers } from './world.suite.ts';

const publisher = new URL('../fixtures/publisher.ts', import.meta.url);
const crasher = new URL('../fixtures/crasher.ts', import.meta.url);
const subscriber = new URL('../fixtures/subscriber.ts', import.meta.url);

/** What every engine survives: processes that are killed without warning. */
export function describeFaults(placeIn: (directory: string) => BusPlace): void {
  let directory: TemporaryDirectory;
  let place: BusPlace;
  let effectsPath: string;
  beforeEach(() => {
    directory = temporaryDirectory();
    place = placeIn(join(directory.path, 'bus'));
    effectsPath = join(directory.path, 'effects.db');
  });
  afterEach(() => directory.remove());
  const start = childStarter();

  /** Makes the durable name before anything is published, so that all is for it. */
  async function prepareName(name: string): Promise<void> {
    const bus = await openBus(place);
    await bus.subscribe('message.inbound.#', () => undefined, { durable: name });
    await bus.stop();
  }

  describe('a publisher that is killed right after an answer', () => {
    it('has lost nothing that was accepted', async () => {
      await prepareName('reader');
      const log = join(directory.path, 'accepted');
      for (const round of numbers(3)) {
        const parameters = [JSON.stringify(place), log, String(round * 100_000), '1000000', '8'];
        const child = start(publisher, parameters);
        await child.waitForLine('accepted 1000', 60_000);
        await child.kill('SIGKILL');
      }
      const accepted = [...readAccepted(log)];
      const bus = await openBus(place);
      const seen = new Set<unknown>();
      await bus.subscribe(
        'message.inbound.#',
        ({ payload }) => void seen.add((payload as { number: number }).number),
        { durable: 'reader' },
      );
      await waitFor(() => accepted.every((number) => seen.has(number)), { timeoutMs: 60_000 });
      expect(accepted.length).toBeGreaterThanOrEqual(3000);
      await bus.stop();
    });
  });

  describe('a subscriber that is killed in mid-handler', () => {
    it.each(['before', 'after'])(
      '%s its effect gets the message again, in order, and the effect happens once',
      async (moment) => {
        await prepareName('reader');
        const sender = await openBus(place);
        for (const number of numbers(30)) {
          await sender.publish({ topic: 'message.inbound.x', id: `m${number}`, payload: { number } });
        }
        await sender.stop();
        const parameters = [
          JSON.stringify(place),
          effectsPath,
          JSON.stringify({ durable: 'reader' }),
          moment,
        ];
        for (const number of [9, 19, 29]) {
          const child = start(subscriber, parameters);
          await child.waitForLine(`stands at ${number}`, 60_000);
          await child.kill('SIGKILL');
        }
        const last = start(subscriber, parameters);
        const effects = new Effects(effectsPath);
        const runs = moment === 'before' ? 30 : 33;
        await waitFor(() => effects.totals().balance === 30 && effects.totals().runs >= runs);
        await last.kill('SIGKILL');
        expect(effects.totals().balance).toBe(30);
        expect(effects.numbers()).toEqual(numbers(30));
        effects.close();
      },
    );
  });

  describe('a message that ends the process each time', () => {
    it('comes to the dead letters after the last attempt, and the next message gets through', async () => {
      place = { ...place, maxAttempts: 2 };
      await prepareName('reader');
      const sender = await openBus(place);
      for (const payload of ['harmless', 'deadly', 'next'])
        await sender.publish({ topic: 'message.inbound.x', payload });
      await sender.stop();
      let child = start(crasher, [JSON.stringify(place)]);
      let deaths = 0;
      while (!(await outcome(child)).includes('handles next')) {
        deaths += 1;
        expect(deaths).toBeLessThan(6);
        child = start(crasher, [JSON.stringify(place)]);
      }
      await child.kill('SIGKILL');
      expect(deaths).toBeGreaterThanOrEqual(2);
      const bus = await openBus(place);
      expect(await bus.deadLetters()).toEqual([
        expect.objectContaining({
          durable: 'reader',
          attempts: 2,
          error: expect.stringContaining('The process ended 2 times'),
          message: expect.objectContaining({ payload: 'deadly' }),
        }),
      ]);
      await bus.stop();
    });

    it('is not blamed while it only waited for its turn', async () => {
      place = { ...place, maxAttempts: 2 };
      await prepareName('reader');
      const sender = await openBus(place);
      await sender.publish({ topic: 'message.inbound.x', payload: 'deadly' });
      await sender.stop();
      for (const _ of numbers(4)) await start(crasher, [JSON.stringify(place), 'waiting']).exited;
      const bus = await openBus(place);
      const seen: unknown[] = [];
      await bus.subscribe('message.inbound.#', ({ payload }) => void seen.push(payload), {
        durable: 'reader',
      });
      await waitFor(() => seen.length === 1, { timeoutMs: 60_000 });
      expect(await bus.deadLetters()).toEqual([]);
      await bus.stop();
    });
  });
}

/** What the child wrote until it died or handled the last message. */
async function outcome(child: Child): Promise<string> {
  const next = child.waitForLine('handles next', 60_000).catch(() => undefined);
  await Promise.race([child.exited, next]);
  return child.output();
}
