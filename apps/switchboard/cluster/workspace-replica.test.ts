import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BusError } from '@trunkline/bus';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, vi } from 'vitest';
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
  const controlPlane = { onWrite: () => () => undefined, noteEdit: async () => undefined };
  const replica = new WorkspaceReplica({} as never);
  await replica.start({ bus, workspace, logger, controlPlane, home: home.path } as never);
  expect(readFileSync(join(home.path, 'keys.yaml'), 'utf8')).toBe(text);
  expect(problems).toEqual([]);
  await replica.stop();
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
