import { expect, it } from 'vitest';
import { enginesOfThisFile, outcome, send } from '../fixtures/engines.ts';
import type { TaskEngine } from './engine.ts';
import type { LiveTask } from './live-task.ts';
import type { SharedTask } from './shared-tasks.ts';

const engines = enginesOfThisFile();

/** An engine, and what it has told the others in order. */
function sharing() {
  const told: SharedTask[] = [];
  let engine: TaskEngine | undefined;
  const started = engines.start(
    async function* ({ text }, signal) {
      if (text === 'wait') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield { type: 'completed', text: `did ${text}` };
    },
    {
      share: async (live: LiveTask) => {
        const { sequence, requestKey } = live;
        const events = engine?.eventsAfter(live, 0) ?? [];
        told.push({ task: live.snapshot(), sequence, events, requestKey });
      },
    },
  );
  ({ engine } = started);
  return { ...started, told };
}

/** As another service gets it. */
const from = (runner: string, shared: SharedTask | undefined): SharedTask => {
  if (shared === undefined) throw new Error('Nothing was told.');
  return { ...shared, task: { ...shared.task, runner } };
};

it('keeps tasks of two services that were begun in the same millisecond apart, and a restart leaves them alone', async () => {
  const [one, other] = [sharing(), sharing()];
  // The clocks of both stand still: time and counter of the ids are the same.
  const done = await outcome(one.engine, 'one');
  const { live, stored } = send(other.engine, 'wait');
  await stored;
  expect(live.id.slice(0, 18)).toBe(done.id.slice(0, 18));
  one.engine.shared.take(from('other', other.told[0]));
  expect(
    one.engine
      .list({})
      .tasks.map(({ id }) => id)
      .toSorted(),
  ).toEqual([done.id, live.id].toSorted());
  expect(one.engine.get(done.id).artifacts[0]?.parts).toMatchObject([{ text: 'did one' }]);
  const { tasks, nextPageToken } = one.engine.list({ pageSize: 1 });
  const rest = one.engine.list({ pageSize: 1, pageToken: nextPageToken }).tasks;
  expect(new Set([...tasks, ...rest].map(({ id }) => id)).size).toBe(2);
  const again = engines.restart(one.engine, one.settings, { share: undefined });
  expect(again.get(live.id)).toMatchObject({ state: 'working', runner: 'other' });
  // Its runner is gone, and nobody can go on with it.
  again.takeOver(live.id);
  expect(again.get(live.id).state).toBe('failed');
});

it('lets the first end stand where two services end a task at once', async () => {
  const [one, other] = [sharing(), sharing()];
  const { live, stored } = send(one.engine, 'wait');
  await stored;
  other.engine.shared.take(from('one', one.told[0]));
  expect(other.engine.get(live.id).state).toBe('working');
  other.engine.cancel(live.id, true);
  one.engine.cancel(live.id, true);
  const [canceled, alsoCanceled] = [other.told.at(-1), one.told.at(-1)];
  expect([canceled?.task.state, alsoCanceled?.task.state]).toEqual(['canceled', 'canceled']);
  const ended = from('other', {
    ...from('x', canceled),
    task: { ...from('x', canceled).task, updatedAt: 7 },
  });
  // Both get both in this order.
  one.engine.shared.take(ended);
  one.engine.shared.confirmEnd(live.id);
  other.engine.shared.confirmEnd(live.id);
  other.engine.shared.take(from('one', alsoCanceled));
  expect(one.engine.get(live.id).updatedAt).toBe(7);
  expect(other.engine.get(live.id).updatedAt).toBe(canceled?.task.updatedAt);
});

it('ends what runs here when it was ended elsewhere, and tells whoever follows', async () => {
  const [one, other] = [sharing(), sharing()];
  const { live, stored } = send(one.engine, 'wait');
  await stored;
  const states: string[] = [];
  live.subscribe(({ event }) => void (event.type === 'status' && states.push(event.state)));
  other.engine.shared.take(from('one', one.told[0]));
  other.engine.cancel(live.id, true);
  one.engine.shared.take(from('other', other.told.at(-1)));
  expect(await live.settled()).toMatchObject({ task: { state: 'canceled' } });
  expect(states).toEqual(['canceled']);
  expect(one.engine.running).toBe(0);
  expect(one.told.map(({ task }) => task.state)).toEqual(['working']);
});
