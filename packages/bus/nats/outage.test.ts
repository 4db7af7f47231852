import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { gate, listen, numbers, patience, recordingLogger } from '../suites/world.suite.ts';

describe.skipIf(natsMissing)(`while the NATS server is away${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let buses: Bus[];
  beforeEach(async () => {
    server = await startNatsServer();
    buses = [];
  });
  afterEach(async () => {
    await Promise.all(buses.map((bus) => bus.stop()));
    await server.stop();
  });

  async function open(options: Partial<NatsBusOptions> = {}): Promise<Bus> {
    const bus = await createNatsBus({
      drainTimeoutMs: 500,
      ackWaitMs: 1000,
      ...options,
      servers: server.url,
    });
    buses.push(bus);
    return bus;
  }

  async function seen(bus: Bus, connected: boolean): Promise<void> {
    await vi.waitFor(() => expect(bus.status().connected).toBe(connected), patience);
  }

  it('a memory waits as publishers do, and says when that took too long or too many wait', async () => {
    const patientOne = await (await open()).memory('hooks', { ttlMs: 60_000 });
    const hasty = await (await open({ publishTimeoutMs: 200, maxPending: 1 })).memory('hooks', {
      ttlMs: 60_000,
    });
    await patientOne.keep('key', 'before');
    await server.kill('SIGKILL');
    const recalled = patientOne.recall('key');
    const late = expect(hasty.recall('key')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(hasty.recall('key')).rejects.toMatchObject({ code: 'overloaded' });
    await late;
    await server.start();
    expect(await recalled).toBe('before');
    expect(await patientOne.keep('key', 'after')).toBe('before');
  });

  it('who asks about a lease is answered after the next try, however long it has been away', async () => {
    const logger = recordingLogger();
    const lease = await (await open({ logger })).lease('leader', { ttlMs: 1000 });
    const failedTries = () =>
      logger.lines.filter(({ text }) => text.includes('failed to renew lease')).length;
    await server.kill('SIGKILL');
    await vi.waitFor(() => expect(failedTries()).toBeGreaterThan(5), patience);
    const before = failedTries();
    await expect(lease.confirm()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(failedTries() - before).toBeLessThanOrEqual(2);
    await server.start();
  }, 60_000);

  it('publishers wait; then all is accepted and brought in order, and every kind of subscriber goes on', async () => {
    const logger = recordingLogger();
    const bus = await open({ logger });
    const durable = await listen(bus, 'message.inbound.#', { durable: 'reader' });
    const live = await listen(bus, '#', { queueLimit: 5000 });
    await bus.publish({ topic: 'message.inbound.a', payload: 'before' });
    await durable.count(1);
    await server.kill('SIGKILL');
    await seen(bus, false);
    const waiting = numbers(300).map((payload) => bus.publish({ topic: 'message.inbound.a', payload }));
    const plain = bus.publish({ topic: 'plain', payload: 'plain' });
    expect(bus.status().pending).toBe(301);
    await server.start();
    await Promise.all([...waiting, plain]);
    await seen(bus, true);
    await durable.count(301);
    expect(durable.payloads()).toEqual(['before', ...numbers(300)]);
    await live.count(302);
    expect(live.payloads()).toEqual(['before', ...numbers(300), 'plain']);
    await bus.subscribe('question', ({ reply }) => {
      if (reply !== undefined) void bus.publish({ topic: reply.topic, payload: 'answer' });
    });
    expect((await bus.request('question', 1, { timeoutMs: 10_000 })).payload).toBe('answer');
    expect(logger.lines.map(({ text }) => text)).toEqual(
      expect.arrayContaining(['NATS connection lost; reconnecting', 'NATS connection restored']),
    );
  });

  it('what waits is bounded in number and time, and the refusal says so', async () => {
    const bus = await open({ maxPending: 3, publishTimeoutMs: 300 });
    await server.kill('SIGKILL');
    await seen(bus, false);
    const publish = () => bus.publish({ topic: 'message.inbound.a', payload: 1 });
    const waiting = numbers(3).map(publish);
    await expect(publish()).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('3 messages'),
    });
    for (const refused of await Promise.allSettled(waiting)) {
      expect(refused).toMatchObject({
        status: 'rejected',
        reason: { code: 'unavailable', message: expect.stringContaining('with the same id') },
      });
    }
    expect(bus.status().pending).toBe(0);
    await server.start();
    await vi.waitFor(publish, patience);
  });

  it('a handler goes on; what it finished comes again and is not handled twice', async () => {
    const bus = await open();
    const door = gate();
    const handled: unknown[] = [];
    const begun = gate();
    await bus.subscribe(
      'message.inbound.#',
      async ({ payload }) => {
        begun.open();
        await door.passed;
        handled.push(payload);
      },
      { durable: 'reader' },
    );
    await bus.publish({ topic: 'message.inbound.a', payload: 1 });
    await begun.passed;
    await server.kill('SIGKILL');
    await seen(bus, false);
    door.open();
    await vi.waitFor(() => expect(handled).toEqual([1]), patience);
    await server.start();
    await bus.publish({ topic: 'message.inbound.a', payload: 2 });
    await vi.waitFor(() => expect(handled).toEqual([1, 2]), patience);
  });

  it('a bus that is stopped gives up what waits', async () => {
    const bus = await open({ drainTimeoutMs: 50 });
    await server.kill('SIGKILL');
    await seen(bus, false);
    const waiting = bus.publish({ topic: 'message.inbound.a', payload: 1 });
    waiting.catch(() => undefined);
    await bus.stop();
    await expect(waiting).rejects.toMatchObject({ code: 'stopped' });
  });
});
