import type { Origin, Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Stage } from '../cases/harness/stage.suite.ts';
import { openVoiceDatabase } from '../store/database.ts';
import { createReminderTools, Reminders } from './reminders.ts';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

function setUp() {
  const directory = temporaryDirectory();
  const database = openVoiceDatabase(directory.path);
  const stage = new Stage();
  const open = () =>
    new Reminders({ database, delivery: stage.delivery, clock: stage.clock, logger: silent });
  onTestFinished(async () => {
    await stage.close();
    database.close();
    directory.remove();
  });
  return { stage, open };
}

const heard: Origin[] = [];

function callsTo(reminders: Reminders, sender?: Principal, timezone?: string) {
  return async (name: string, input: object) => {
    const tool = createReminderTools(reminders, 'default', sender).find((each) => each.name === name);
    if (tool === undefined || tool.pause) throw new Error(`no tool ${name}`);
    const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c', timezone };
    const addOrigins = (origins: readonly Origin[]) => void heard.push(...origins);
    return await tool.execute(tool.input.parse(input), { ...context, principal: sender, addOrigins });
  };
}

/** All words that the caller has heard. */
const spoken = (stage: Stage) =>
  stage.caller.received
    .flatMap(({ message: { type, data } }) =>
      type === 'bot-tts-text' ? (data as { text: string }).text.trim() : [],
    )
    .join(' ');

it('speaks a due reminder to the caller who is connected, once', async () => {
  const { stage, open } = setUp();
  const reminders = open();
  await stage.call();
  const call = callsTo(reminders);
  expect(await call('set_reminder', { text: 'Time to stretch.', in_minutes: 2 })).toMatch(
    /^Reminder \w{8} is set for 1970-01-01T00:02:00\.000Z\.$/,
  );
  await stage.pass(119_000);
  expect(spoken(stage)).toBe('');
  await stage.until(() => stage.types().includes('bot-stopped-speaking'));
  expect(spoken(stage)).toBe('Your reminder says: Time to stretch.');
  expect(reminders.of('default')).toEqual([]);
  expect(stage.pending.waitingFor('default')).toEqual([]);
  await reminders.stop();
});

it('keeps reminders over a restart, and what was due meanwhile for the next call', async () => {
  const { stage, open } = setUp();
  const first = open();
  await callsTo(first)('set_reminder', {
    text: 'Time to stretch.',
    when: '1970-01-01T10:00',
    timezone: 'Asia/Tokyo',
  });
  await first.stop();
  await stage.clock.advanceBy(3 * 24 * 3600_000);
  const second = open();
  await stage.clock.advanceBy(0);
  expect(stage.pending.waitingFor('default')).toMatchObject([
    { from: 'Your reminder', text: 'Time to stretch.' },
  ]);
  await stage.call();
  await stage.until(() => stage.types().includes('bot-stopped-speaking'));
  expect(spoken(stage)).toContain('Time to stretch.');
  await second.stop();
  expect(open().of('default')).toEqual([]);
});

it('repeats, is cancelled by its id, and says what is wrong', async () => {
  const { stage, open } = setUp();
  const reminders = open();
  const call = callsTo(reminders);
  const set = await call('set_reminder', { text: 'Drink water.', when: '0 * * * *', timezone: 'UTC' });
  const id = /^Reminder (\w+)/.exec(set)?.[1] ?? '';
  await stage.clock.advanceBy(2 * 3600_000);
  expect(stage.pending.waitingFor('default')).toHaveLength(2);
  expect(await call('cancel_reminder', { id: 'x' })).toContain(`${id} | 0 * * * * | Drink water.`);
  expect(await call('cancel_reminder', { id })).toBe(`Canceled reminder ${id}.`);
  expect(await call('cancel_reminder', { id })).toBe('Error: no such reminder. None waits.');
  for (const when of ['soon', '1969-01-01T00:00Z', '* * * * *', '0,10 9 1 * *', undefined])
    expect(await call('set_reminder', { text: 'x', when })).toMatch(/^Error: /);
  const other = createReminderTools(reminders, 'ada');
  expect(other.map(({ name }) => name)).toEqual(['set_reminder', 'cancel_reminder']);
  expect(reminders.cancel('ada', id)).toBe(false);
  await reminders.stop();
});

it('takes the clock of the caller, unless the model names another zone', async () => {
  const { open } = setUp();
  const reminders = open();
  const call = callsTo(reminders, undefined, 'Asia/Tokyo');
  const nine = { text: 'Stand up.', when: '1970-01-02T09:00' };
  expect(await call('set_reminder', nine)).toContain(' is set for 1970-01-02T00:00:00.000Z.');
  expect(await call('set_reminder', { ...nine, timezone: 'UTC' })).toContain('1970-01-02T09:00:00.000Z.');
  await reminders.stop();
});

it('shows those who write only what they set, with where its words come from', async () => {
  const { open } = setUp();
  const first = open();
  const origins: Origin[] = [{ kind: 'fetch_url', source: 'https://example.com/' }];
  const writer: Principal = { kind: 'agent', id: 'scout', via: [], origins };
  const set = async (call: ReturnType<typeof callsTo>, text: string) =>
    /^Reminder (\w+)/.exec(await call('set_reminder', { text, in_minutes: 60 }))?.[1] ?? '';
  const own = await set(callsTo(first), 'Call the doctor.');
  const planted = await set(callsTo(first, writer), 'Buy coins.');
  await first.stop();
  const second = open();
  const [call, write] = [callsTo(second), callsTo(second, writer)];
  const other = callsTo(second, { ...writer, id: 'other' });
  heard.length = 0;
  expect(await other('cancel_reminder', { id: planted })).toBe('Error: no such reminder. None waits.');
  expect(heard).toEqual([]);
  expect(await write('cancel_reminder', { id: own })).not.toContain('doctor');
  expect(heard).toEqual(origins);
  const all = await call('cancel_reminder', { id: 'x' });
  expect(['doctor', 'coins'].filter((word) => all.includes(word))).toHaveLength(2);
  expect(await call('cancel_reminder', { id: planted })).toBe(`Canceled reminder ${planted}.`);
  await expect(call('set_reminder', { text: 'x', when: ' '.repeat(101) })).rejects.toThrow();
  await second.stop();
});
