import { waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { askedFor, type Lab, startLab } from './fixtures/lab.ts';
import { HostQueue } from './reading/reader.ts';

const HOUR = 3_600_000;
let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});
afterEach(() => {
  vi.useRealTimers();
  lab.reset();
});
afterAll(() => lab.stop());

/** Sets the clock of the machine by so much; timers run on. */
function setClock(byMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + byMs });
}

it.each([HOUR, -HOUR])('a clock that is set by %i ms takes no time from a job', async (byMs) => {
  lab.script.replace = (asked) => (asked === 'gaps' ? { fault: 'stall', answer: '{"gaps":[]}' } : undefined);
  const before = lab.model.chats().length;
  const isStalled = () =>
    lab.model
      .chats()
      .slice(before)
      .some((chat) => askedFor(chat) === 'gaps');
  const id = await lab.client.startJob({ query: 'tidal power', budget: { seconds: 1000 } });
  await waitFor(isStalled);
  setClock(byMs);
  lab.model.release();
  const events = await lab.client.events(id);
  expect(events.find(({ type }) => type === 'evaluate_complete')?.data).toMatchObject({
    stopReason: 'no-gaps',
  });
  const { elapsedMs } = await lab.client.status(id);
  expect([Number(elapsedMs) >= 0, Number(elapsedMs) < HOUR / 2]).toEqual([true, true]);
});

it('a clock that is set back holds up no page', async () => {
  const waits: number[] = [];
  const wait = (milliseconds: number) => Promise.resolve(waits.push(milliseconds));
  const queue = new HostQueue({ perHost: 1, pauseMs: 500, total: 1, wait });
  const signal = new AbortController().signal;
  await queue.run('tides.example', signal, () => Promise.resolve());
  setClock(-HOUR);
  await queue.run('tides.example', signal, () => Promise.resolve());
  expect(Math.max(0, ...waits)).toBeLessThanOrEqual(500);
});
