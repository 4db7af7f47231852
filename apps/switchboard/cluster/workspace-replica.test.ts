import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BusError } from '@trunkline/bus';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, vi } from 'vitest';
import { ChangeStore } from '../control/change-store.ts';
import { ControlPlane } from '../control/control-plane.ts';
import { fileDigest, SharedFiles } from './shared-files.ts';
import { SharedLog, WorkspaceReplica } from './workspace-replica.ts';

it('takes an edit that the journal holds already, the first thing that a switchboard reads', async () => {
  const home = temporaryDirectory();
  const problems: unknown[] = [];
  const text = 'keys: []\n';
  const entry = { kind: 'file', name: 'keys.yaml', file: 'keys.yaml', text, by: 'x' };
  const bus = {
    status: () => ({ engine: 'nats' }),
    publish: async () => undefined,
    subscribe: async (_: string, handle: (message: unknown) => Promise<void>) => {
      await handle({ payload: { origin: 'other', entry } });
      return { unsubscribe: async () => undefined };
    },
  };
  const workspace = { directory: home.path, onChange: () => () => undefined };
  const logger = { error: (problem: unknown) => problems.push(problem) };
  const controlPlane = {
    onWrite: () => () => undefined,
    noteEdit: async () => undefined,
    read: async () => null,
  };
  const replica = new WorkspaceReplica({} as never);
  await replica.start({ bus, workspace, logger, controlPlane, home: home.path } as never);
  expect(readFileSync(join(home.path, 'keys.yaml'), 'utf8')).toBe(text);
  expect(problems).toEqual([]);
  await replica.stop();
  home.remove();
});

it('has written a file though it cannot publish that it kept another aside', async () => {
  const home = temporaryDirectory();
  const [words, text]: [string[], string] = [[], 'keys: []\n'];
  const entry = { kind: 'file', name: 'keys.yaml', file: 'keys.yaml', text, by: 'x', replaced: 'another' };
  writeFileSync(join(home.path, 'keys.yaml'), '# Ours\n');
  const bus = {
    status: () => ({ engine: 'nats' }),
    publish: async () => {
      throw new BusError('unavailable', 'The journal has no leader.');
    },
    subscribe: async (_: string, handle: (message: unknown) => Promise<void>) => {
      await handle({ payload: { origin: 'other', entry } });
      return { unsubscribe: async () => undefined };
    },
  };
  const log = (_: unknown, message: string) => words.push(message);
  const workspace = { directory: home.path, onChange: () => () => undefined };
  const controlPlane = {
    onWrite: () => () => undefined,
    noteEdit: async () => undefined,
    read: async () => null,
  };
  const files = new SharedFiles(join(home.path, 'shared-files.db'), { warn: vi.fn() });
  const replica = new WorkspaceReplica({} as never, { files, changes: { add: vi.fn(), drop: vi.fn() } });
  const logger = { error: log, warn: () => undefined };
  await replica.start({ bus, workspace, logger, controlPlane, home: home.path } as never);
  expect(words).toEqual(['failed to publish that a file was kept aside']);
  expect(files.digest('file', 'keys.yaml')).toBe(fileDigest({ kind: 'file', name: 'keys.yaml' }, text));
  await replica.stop();
  files.close();
  home.remove();
});

it('counts a change though it cannot be recorded that the others have it', async () => {
  const home = temporaryDirectory();
  const warn = vi.fn();
  const path = join(home.path, 'shared-files.db');
  const shared = new SharedFiles(path, { warn });
  const changes = new ChangeStore(join(home.path, 'changes.db'));
  const controlPlane = new ControlPlane({ directory: home.path, changes, env: {}, shared });
  controlPlane.onWrite(async () => undefined);
  const disk = new DatabaseSync(path);
  disk.exec(`CREATE TRIGGER full BEFORE INSERT ON files
    BEGIN SELECT raise(ABORT, 'database or disk is full'); END`);
  // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
  const route = { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } };
  const change = await controlPlane.write('route', 'bell', route, { actor: 'operator' });
  expect(readFileSync(join(home.path, 'routes.d/bell.yaml'), 'utf8')).toBe(change.after);
  expect(changes.get(change.id)).toEqual(change);
  expect(warn).toHaveBeenCalledOnce();
  for (const store of [disk, shared, changes]) store.close();
  home.remove();
});

it('starts beside a folder that cannot be listed, and watches nothing after a start that failed', async () => {
  const home = temporaryDirectory();
  writeFileSync(join(home.path, 'crons'), '');
  const onChange = vi.fn(() => () => undefined);
  const bus = {
    status: () => ({ engine: 'nats' }),
    publish: async () => undefined,
    subscribe: async () => ({ unsubscribe: async () => undefined }),
  };
  const controlPlane = {
    onWrite: () => () => undefined,
    noteEdit: async () => undefined,
    read: async () => null,
  };
  const files = new SharedFiles(join(home.path, 'shared-files.db'), { warn: vi.fn() });
  const start = async () => {
    const replica = new WorkspaceReplica({} as never, { files, changes: { add: vi.fn(), drop: vi.fn() } });
    const workspace = { directory: home.path, onChange };
    await replica.start({ bus, workspace, logger: {}, controlPlane, home: home.path } as never);
    await replica.stop();
  };
  await start();
  expect(onChange).toHaveBeenCalledTimes(1);
  files.close();
  await expect(start()).rejects.toThrow();
  expect(onChange).toHaveBeenCalledTimes(1);
  home.remove();
});

it('shares later, under the same ids and once, what the journal did not take while it was away', async () => {
  vi.useFakeTimers();
  try {
    let isAway = true;
    const sent: { id: string; entry: string }[] = [];
    const publish = async ({ id, payload }: { id: string; payload: { entry: { text: string } } }) => {
      sent.push({ id, entry: payload.entry.text });
      if (isAway) throw new BusError('unavailable', 'The journal has no leader.');
    };
    const settings = { bus: { publish }, topic: 'cluster.tasks', durable: 'x', onEntry: () => undefined };
    const log = new SharedLog<{ text: string }>(settings as never);
    for (const text of ['one', 'two'])
      await expect(log.shareSurely({ text }, text)).rejects.toThrow('The journal has no leader.');
    // The first is tried again; the second waits behind it.
    await vi.advanceTimersByTimeAsync(2000);
    isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent.map(({ entry }) => entry)).toEqual(['one', 'two', 'one', 'one', 'two']);
    for (const text of ['one', 'two'])
      expect(new Set(sent.filter(({ entry }) => entry === text).map(({ id }) => id)).size).toBe(1);
    // What is about one thing keeps its order: nothing new overtakes what waits.
    sent.length = 0;
    isAway = true;
    await expect(log.shareSurely({ text: 'in progress' }, 'r')).rejects.toThrow('The journal has no leader.');
    isAway = false;
    await log.shareSurely({ text: 'completed' }, 'r');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent.map(({ entry }) => entry)).toEqual(['in progress', 'in progress', 'completed']);
    // After a stop nothing is tried any more.
    sent.length = 0;
    isAway = true;
    await expect(log.shareSurely({ text: 'late' }, 'r')).rejects.toThrow('The journal has no leader.');
    await log.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});
