import { type Bus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { childStarter } from '../suites/children.suite.ts';
import { patience } from '../suites/world.suite.ts';

const holder = new URL('../fixtures/lease-holder.ts', import.meta.url);

describe.skipIf(natsMissing)(`a lease on NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let bus: Bus;
  beforeEach(async () => {
    server = await startNatsServer();
    bus = await createNatsBus({ servers: server.url });
  });
  afterEach(async () => {
    await bus.stop();
    await server.stop();
  });

  const start = childStarter();

  function startHolder(ttlMs = 3000) {
    const place = { servers: server.url, prefix: 'bus', ackWaitMs: 1000 };
    return start(holder, [JSON.stringify(place), String(ttlMs)]);
  }

  it('passes on when its holder is killed', async () => {
    const child = startHolder();
    const line = await child.waitForLine('token ', 60_000);
    const lease = await bus.lease('scheduler', { ttlMs: 3000 });
    expect(lease.token).toBeUndefined();
    await child.kill('SIGKILL');
    await vi.waitFor(() => expect(lease.token).toBeGreaterThan(Number(line.split(' ')[1])), patience);
  });

  it('passes on long before its time is over when the connection of its holder has ended', async () => {
    // Longer than the test has patience.
    const ttlMs = 20_000;
    const child = startHolder(ttlMs);
    const line = await child.waitForLine('token ', 60_000);
    const lease = await bus.lease('scheduler', { ttlMs });
    await expect(lease.confirm()).rejects.toMatchObject({ code: 'lease_lost' });
    await child.kill('SIGKILL');
    await vi.waitFor(() => expect(lease.token).toBeGreaterThan(Number(line.split(' ')[1])), patience);
  });

  it('is lost to a holder that was asleep, by its own clock and by the store', async () => {
    const child = startHolder();
    const line = await child.waitForLine('token ', 60_000);
    const lease = await bus.lease('scheduler', { ttlMs: 3000 });
    process.kill(child.pid, 'SIGSTOP');
    await vi.waitFor(() => expect(lease.token).toBeGreaterThan(Number(line.split(' ')[1])), patience);
    child.write('still leader?\n');
    process.kill(child.pid, 'SIGCONT');
    expect(await child.waitForLine('own ')).toBe('own undefined, confirmed lease_lost');
    expect(child.output()).toContain('token undefined');
    await child.kill('SIGKILL');
  });

  it('is given up in time when the server is away, and won again with a new token', async () => {
    const changes: (number | undefined)[] = [];
    await bus.lease('scheduler', { ttlMs: 3000, onChange: (token) => changes.push(token) });
    await server.kill('SIGKILL');
    await vi.waitFor(() => expect(changes).toEqual([expect.any(Number), undefined]), patience);
    await server.start();
    await vi.waitFor(
      () => expect(changes[2]).toBeGreaterThan(changes[0] ?? Number.POSITIVE_INFINITY),
      patience,
    );
  });
});
