import type { Bus } from '@trunkline/bus';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, vi } from 'vitest';
import { createPeers } from './peers.ts';
import { createTaskReplica } from './task-replica.ts';

const ignore = () => undefined;
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore } as never;

/** What is published comes back at once, while it is connected. */
function loopback() {
  const handlers = new Map<string, (message: object) => unknown>();
  const bus = {
    isConnected: true,
    published: [] as { topic: string; payload: object }[],
    status: () => ({ engine: 'nats', connected: bus.isConnected }),
    async subscribe(topic: string, handle: (message: object) => unknown) {
      handlers.set(topic, handle);
      return { unsubscribe: async () => undefined };
    },
    async publish(message: { topic: string; payload: object }) {
      bus.published.push(message);
      await handlers.get(message.topic)?.(message);
    },
  };
  return bus;
}

it('tells what ended before it could, and takes over only from those who fall silent while others could be heard', async () => {
  const home = temporaryDirectory();
  vi.useFakeTimers();
  try {
    const bus = loopback();
    const takeOver = vi.fn();
    const engine = {
      observe: ignore,
      list: () => ({ tasks: [{ id: 'theirs', runner: 'two' }], nextPageToken: '' }),
      eventsAfter: () => [],
      shared: { take: ignore, confirmEnd: ignore },
      takeOver,
    };
    const replica = createTaskReplica({
      seal: { seal: (text: string) => text },
      exchange: { open: async (text: string) => text },
    });
    const webhook = { removed: { taskId: 'hooked', id: 'hook' } };
    const isShared: Promise<boolean>[] = [];
    const push = { shareAgain: () => isShared.push(replica.shareWebhook(webhook)) };
    replica.attach({ engine, takeWebhook: ignore, push } as never);
    push.shareAgain();
    // A restart ends what ran before, and the plugins start later.
    const task = { id: 'cut-off', state: 'failed', history: [], artifacts: [] };
    await replica.share({ id: task.id, state: task.state, sequence: 2, snapshot: () => task } as never);
    const peers = createPeers({ bus: bus as unknown as Bus, logger, isLeader: () => false });
    await peers.start('one');
    await replica.plugin.start?.({ bus, home: home.path, logger, peers } as never);
    await vi.advanceTimersByTimeAsync(0);
    const entries = bus.published.filter(({ topic }) => topic === 'cluster.tasks');
    expect(JSON.stringify(entries)).toContain('cut-off');
    // Whoever stores webhooks that others may not know learns that they do now.
    expect(await Promise.all(isShared)).toEqual([false, true]);
    expect(entries.filter(({ payload }) => JSON.stringify(payload).includes('hooked'))).toHaveLength(1);

    const greet = () => bus.publish({ topic: 'cluster.hello', payload: { node: 'two' } });
    await greet();
    bus.isConnected = false;
    await vi.advanceTimersByTimeAsync(60_000);
    bus.isConnected = true;
    await vi.advanceTimersByTimeAsync(4000);
    expect(peers.list()).toHaveLength(1);
    expect(takeOver).not.toHaveBeenCalled();
    await greet();
    await vi.advanceTimersByTimeAsync(6000);
    expect(takeOver).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(takeOver.mock.calls).toEqual([['theirs']]);
    await replica.plugin.stop?.();
    peers.stop();
  } finally {
    vi.useRealTimers();
    home.remove();
  }
});
