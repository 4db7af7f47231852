import { join } from 'node:path';
import type { Principal } from '@trunkline/identity';
import { FakeClock, temporaryDirectory } from '@trunkline/testing';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Answer, startAnswering } from '../tools/answering-server.suite.ts';
import { chooseBackend } from './choose-backend.ts';
import { LiveSeals } from './live-seals.ts';

const settings = {
  ...{
    agentName: 'ada',
    schedulerBackend: 'switchboard',
    schedulerDisabled: false,
    schedulerFireTimeoutS: 1,
  },
  switchboardApiKey: 'key',
};
const principal: Principal = { kind: 'person', id: 'chat:7', via: ['chat'] };
const day = 86_400_000;
let clock: FakeClock;
let warnings: string[];
beforeEach(() => {
  clock = new FakeClock('2026-03-01T10:00:00Z');
  warnings = [];
});

/** The agent's side of a switchboard that answers as the test says. */
async function startBoard(answer: () => Answer) {
  const home = temporaryDirectory();
  const board = await startAnswering(answer);
  const logger = {
    info: () => undefined,
    warn: (_fields: object, message: string) => void warnings.push(message),
  };
  const backend = chooseBackend(
    { ...settings, switchboardApiBase: board.url },
    {
      ...{ directory: home.path, home: home.path, url: () => '', serviceToken: 's', logger, clock },
      isPeer: true,
    },
  )!;
  onTestFinished(async () => {
    await backend.stop();
    board.stop();
    home.remove();
  });
  const add = (when: string) => backend.add({ prompt: 'Go.', when, jobId: 'tea', principal });
  /** What the switchboard was told to send at each run. */
  const last = () => JSON.parse(board.asked.at(-1)?.body ?? '{}').payload.payload as { on_behalf_of: string };
  /** For whom a run is done: the asker, or whoever sent it. */
  const runFor = ({ on_behalf_of }: { on_behalf_of: string }, via = ['schedule:ada-tea', 'switchboard']) => {
    const metadata = { scheduler_job_id: 'ada-tea', on_behalf_of };
    const by: Principal = { kind: 'agent', id: 'key:ada', via };
    const command = backend.receive!({
      message: { messageId: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }], metadata },
      ...{ metadata, principal: by, strict: false },
    });
    return command.principal.id;
  };
  return { add, last, runFor };
}

it('the signature of a schedule that runs once ends, however often it is put back', async () => {
  const { add, last, runFor } = await startBoard(() => ({}));
  await add('2026-03-02T10:00:00Z');
  const sent = last();
  const asked = [];
  for (let hours = 0; hours < 120; hours += 20) {
    asked.push(runFor(sent));
    await clock.advanceBy(day * (20 / 24));
  }
  expect(asked).toEqual(['chat:7', 'chat:7', 'chat:7', 'chat:7', 'key:ada', 'key:ada']);
});

it('the signature of a recurring schedule goes on with each run that is proven', async () => {
  const { add, last, runFor } = await startBoard(() => ({}));
  await add('0 9 * * *');
  const sent = last();
  await clock.advanceBy(300 * day);
  expect(runFor(sent)).toBe('chat:7');
  await clock.advanceBy(300 * day);
  expect(runFor(sent)).toBe('chat:7');
  await clock.advanceBy(300 * day);
  // No run of the switchboard.
  expect(runFor(sent, ['mail'])).toBe('key:ada');
  await clock.advanceBy(300 * day);
  expect(runFor(sent)).toBe('key:ada');
});

it('both signatures count where the answer to a replacement is lost, and the old one where it is refused', async () => {
  let answer: Answer = {};
  const { add, last, runFor } = await startBoard(() => answer);
  await add('0 9 * * *');
  const first = last();
  answer = { status: 400 };
  await expect(add('0 10 * * *')).rejects.toThrow('status 400');
  const refused = last();
  answer = { status: 502 };
  await expect(add('0 11 * * *')).rejects.toThrow('status 502');
  const lost = last();
  expect([first, refused, lost].map((sent) => runFor(sent))).toEqual(['chat:7', 'key:ada', 'chat:7']);
  answer = {};
  await add('0 12 * * *');
  warnings = [];
  expect([first, lost, last()].map((sent) => runFor(sent))).toEqual(['key:ada', 'key:ada', 'chat:7']);
  expect(warnings).toEqual(Array(2).fill('schedule is not live; running it as text from outside'));
});

it('refuses what is too many, of one person and of all, and forgets none for it', () => {
  const home = temporaryDirectory();
  const seals = new LiveSeals(join(home.path, 'seals.db'), { now: () => clock.now(), most: 20 });
  onTestFinished(() => {
    seals.close();
    home.remove();
  });
  const add = (id: string, owner: string, seal = 'first') =>
    seals.add(id, seal, { schedule: '2026-03-01T11:00:00Z', timezone: 'UTC', owner });
  for (const id of ['a', 'a b']) add(id, 'person:ava');
  expect(() => add('c', 'person:ava')).toThrow('you have 2 schedules on the switchboard already');
  add('a', 'person:ava', 'second');
  seals.remove('a', { except: 'second' });
  const live = (id: string) => ['first', 'second'].map((seal) => seals.isLive(id, seal));
  expect([live('a'), live('a b')]).toEqual([
    [false, true],
    [true, false],
  ]);
  for (let count = 2; count < 20; count += 1) add(`yearly-${count}`, 'operator');
  expect(() => add('one-more', 'person:eve')).toThrow('there are 20 schedules on the switchboard already');
  seals.remove('yearly-2');
  add('one-more', 'person:eve');
  expect([...live('a b'), ...live('one-more')]).toEqual([true, false, true, false]);
});
