import { join } from 'node:path';
import { createEmbeddedBus } from '@trunkline/bus';
import { anonymous, type Principal } from '@trunkline/identity';
import { openDatabase } from '@trunkline/storage';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gate, listen, numbers, patience, recordingLogger } from '../suites/world.suite.ts';
import { migrations } from './journal/journal.ts';
import { discardJournal, JournalThread, prepareJournal } from './journal/thread.ts';

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory.remove());

describe('the journal', () => {
  const options = () => ({ directory: directory.path, retainMs: 1e9, retainBytes: 1e9, forgetAfterMs: 1e9 });
  const row = (number: number, topic = 'a.b') => [`k${number}`, topic, 'c', `"${number}"`, null] as const;

  it('reads on in pages, each only so long, whatever lies between', async () => {
    const thread = JournalThread.open(options());
    await thread.call('append', [row(0)]);
    await thread.call(
      'append',
      numbers(12_000, 1).map((number) => row(number, 'other')),
    );
    await thread.call('append', [row(20_000), row(20_001)]);
    let after = 0;
    let pages = 0;
    const found: number[] = [];
    while (after < 12_003) {
      const page = await thread.call('readForward', after, 'a.#', 'name', 10);
      found.push(...page.found.map(([position]) => position));
      after = page.scannedTo;
      pages += 1;
    }
    expect(found).toEqual([1, 12_002, 12_003]);
    expect(pages).toBe(3);
    expect((await thread.call('readBackward', 12_002, '#', 2)).found.map(([position]) => position)).toEqual([
      12_001, 12_000,
    ]);
    await thread.close();
  });

  it('says what is wrong with its file', async () => {
    const newer = openDatabase(join(directory.path, 'bus.db'), { migrations: [] });
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    await expect(createEmbeddedBus({ directory: directory.path })).rejects.toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('version 99'),
    });
  });

  it('opens on the thread that was prepared, and the next one on its own', async () => {
    await discardJournal();
    prepareJournal();
    prepareJournal();
    const other = temporaryDirectory();
    const first = JournalThread.open(options());
    const second = JournalThread.open({ ...options(), directory: other.path });
    await first.call('append', [row(1)]);
    expect(await first.call('start')).toEqual({ lastPosition: 1, starts: 1 });
    expect(await second.call('start')).toEqual({ lastPosition: 0, starts: 1 });
    await Promise.all([first.close(), second.close()]);
    other.remove();
  });

  it('leaves its thread to the next one when it is closed, and refuses calls from then on', async () => {
    const first = JournalThread.open(options());
    const appended = first.call('append', [row(1)]);
    const closed = first.close();
    await expect(first.call('append', [row(2)])).rejects.toMatchObject({ code: 'engine_failed' });
    expect(await appended).toEqual([1]);
    await closed;
    await expect(first.call('start')).rejects.toThrow('The journal is closed.');
    const other = temporaryDirectory();
    const second = JournalThread.open({ ...options(), directory: other.path });
    expect(await second.call('start')).toEqual({ lastPosition: 0, starts: 1 });
    // The file of the first is free.
    const third = JournalThread.open(options());
    expect(await third.call('start')).toEqual({ lastPosition: 1, starts: 1 });
    await Promise.all([second.close(), third.close()]);
    await expect(second.call('start')).rejects.toThrow('The journal is closed.');
    other.remove();
  });

  it('does without an idle thread that was ended, as nobody needed it', async () => {
    prepareJournal();
    await discardJournal();
    const thread = JournalThread.open(options());
    expect(await thread.call('start')).toEqual({ lastPosition: 0, starts: 1 });
    await thread.close();
  });

  it('fails every call, in words, once its thread has ended', async () => {
    const thread = JournalThread.open(options());
    await thread.call('start');
    const pending = thread.call('append', [row(1)]);
    pending.catch(() => undefined);
    await thread.terminate();
    await pending.catch((error: unknown) => expect(error).toMatchObject({ code: 'engine_failed' }));
    await expect(thread.call('start')).rejects.toMatchObject({ code: 'engine_failed' });
    expect(thread.failure?.message).toContain('closed');
  });
});

describe('the embedded bus', () => {
  it('lets a hundred publishers share a write, and the loop go on meanwhile', async () => {
    const bus = await createEmbeddedBus({ directory: directory.path });
    const heard = await listen(bus, 'cron.#', { durable: 'reader', queueLimit: 50 });
    await Promise.all(numbers(2000).map((payload) => bus.publish({ topic: 'cron.x', payload })));
    await heard.count(2000);
    expect(heard.payloads()).toEqual(numbers(2000));
    await bus.stop();
  });

  it('refuses more than it can hold while the disk is slow', async () => {
    const bus = await createEmbeddedBus({ directory: directory.path });
    const payload = 'x'.repeat(1_000_000);
    const all = await Promise.allSettled(numbers(80).map(() => bus.publish({ topic: 'cron.x', payload })));
    const refused = all.filter((one) => one.status === 'rejected').map((one) => one.reason.code);
    expect(new Set(refused)).toEqual(new Set(['overloaded']));
    expect(all.length - refused.length).toBeGreaterThan(60);
    await bus.publish({ topic: 'cron.x', payload: 'after' });
    await bus.stop();
  });

  it('keeps what was finished out of turn while the journal could not note it', async () => {
    const logger = recordingLogger();
    const options = { durable: 'reader', concurrency: 5 };
    let bus = await createEmbeddedBus({ directory: directory.path, logger });
    const { passed, open } = gate();
    const stopped = (signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', reject));
    await bus.subscribe(
      'cron.#',
      ({ payload }, { stopping }) => (payload === 'asks' ? stopped(stopping) : passed),
      options,
    );
    for (const payload of ['asks', ...numbers(4)]) await bus.publish({ topic: 'cron.x', payload });
    const disk = openDatabase(join(directory.path, 'bus.db'), { migrations });
    disk.exec("CREATE TRIGGER broken BEFORE INSERT ON finished BEGIN SELECT RAISE(ABORT, 'broken'); END");
    open();
    await vi.waitFor(() => {
      expect(logger.lines.some(({ text }) => text.startsWith('failed to save cursors'))).toBe(true);
    }, patience);
    disk.exec('DROP TRIGGER broken');
    disk.close();
    await bus.stop();
    bus = await createEmbeddedBus({ directory: directory.path });
    const again = await listen(bus, 'cron.#', options);
    await bus.publish({ topic: 'cron.x', payload: 'new' });
    await again.count(2);
    expect(again.payloads().toSorted()).toEqual(['asks', 'new']);
    await bus.stop();
  });

  it('tells in the log whom it forgot', async () => {
    const logger = recordingLogger();
    const times = { forgetAfterMs: 50, maintainEveryMs: 10 };
    const bus = await createEmbeddedBus({ directory: directory.path, logger, ...times });
    const subscription = await bus.subscribe('cron.#', () => undefined, { durable: 'silent' });
    await subscription.unsubscribe();
    await vi.waitFor(() => {
      expect(logger.lines).toContainEqual(
        expect.objectContaining({ level: 'warn', details: { forgotten: ['silent'] } }),
      );
    }, patience);
    await bus.stop();
  });

  it('keeps what the operator and people wrote when strangers fill the journal, and then people', async () => {
    const bus = await createEmbeddedBus({ directory: directory.path, retainBytes: 4_000_000 });
    const [operator, member, guest] = [
      { kind: 'operator', id: 'operator', via: [] },
      { kind: 'person', id: 'user:ava', via: [] },
      { kind: 'person', id: 'mail:eve@example.org', via: [], role: 'guest' },
    ] as const;
    const write = (name: string, principal: Principal, size = 200_000) =>
      bus.publish({ topic: 'cron.x', id: name, payload: 'x'.repeat(size), principal });
    const flood = async (name: string, principal: Principal) => {
      for (const number of numbers(30)) await write(`${name}-${number}`, principal);
    };
    const kept = async () => (await bus.history({ limit: 1000 })).map(({ message }) => message.id);
    await write('by-operator', operator, 10);
    await write('by-member', member, 10);
    await flood('guest', guest);
    await flood('nobody', anonymous);
    const afterStrangers = await kept();
    expect(afterStrangers.slice(0, 2)).toEqual(['by-operator', 'by-member']);
    expect(afterStrangers).toContain('nobody-29');
    expect(afterStrangers).not.toContain('guest-0');
    await flood('member', member);
    const afterMembers = await kept();
    expect(afterMembers[0]).toBe('by-operator');
    expect(afterMembers.filter((id) => id.startsWith('nobody'))).not.toEqual([]);
    expect(afterMembers).toContain('member-29');
    expect(afterMembers).not.toContain('by-member');
    await bus.stop();
  });

  it('takes messages however many are given up: the oldest dead letters go, and the log tells', async () => {
    const logger = recordingLogger();
    const limits = { retainBytes: 4_000_000, maxAttempts: 1, maintainEveryMs: 10 };
    const bus = await createEmbeddedBus({ directory: directory.path, logger, ...limits });
    const refuse = () => Promise.reject(new Error('never'));
    await bus.subscribe('cron.#', refuse, { durable: 'broken' });
    for (const number of numbers(40)) {
      await bus.publish({ topic: 'cron.x', id: `m${number}`, payload: 'x'.repeat(200_000) });
      await vi.waitFor(async () => {
        expect((await bus.deadLetters()).at(-1)?.message.id).toBe(`m${number}`);
      }, patience);
    }
    const kept = (await bus.deadLetters()).map(({ message }) => message.id);
    expect(kept).toEqual(numbers(kept.length, 40 - kept.length).map((number) => `m${number}`));
    expect(kept.length).toBeGreaterThan(5);
    await vi.waitFor(() => {
      expect(logger.lines).toContainEqual(
        expect.objectContaining({ level: 'warn', text: 'oldest dead letters dropped' }),
      );
    }, patience);
    await bus.stop();
  });

  it.each([{ maxAttempts: 0 }, { retainBytes: 1.5 }, { drainTimeoutMs: -1 }])(
    'refuses %j',
    async (options) => {
      await expect(createEmbeddedBus({ directory: directory.path, ...options })).rejects.toMatchObject({
        code: 'options_refused',
        message: expect.stringContaining(Object.keys(options)[0]!),
      });
    },
  );
});
