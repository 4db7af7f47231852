import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLine } from '../fixtures/line.ts';
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
      servers: server.url,
      ...options,
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

  it('a memory and a lease whose buckets are deleted are there again, and the loss is told once', async () => {
    const bus = await open();
    const errors = await listen(bus, 'system.error');
    const hooks = await bus.memory('hooks', { ttlMs: 60_000 });
    await hooks.keep('key', 'before');
    const lease = await bus.lease('leader', { ttlMs: 10_000 });
    await vi.waitFor(() => lease.confirm(), patience);
    const admin = await connect({ servers: server.url });
    const manager = await jetstreamManager(admin);
    for (const name of ['memory-60000', 'lease-10000']) await manager.streams.delete(`KV_bus-${name}`);
    await admin.close();
    expect(await hooks.keep('key', 'after')).toBe('after');
    await vi.waitFor(() => lease.confirm(), patience);
    const told = () => errors.messages.map(({ payload }) => (payload as { error: string }).error).toSorted();
    await vi.waitFor(() => expect(told()).toHaveLength(2), patience);
    expect(told()).toEqual([
      expect.stringContaining('Who leads is decided anew.'),
      expect.stringContaining('Webhooks that were accepted before can be accepted once more'),
    ]);
  });

  /** Makes a failure of the server's next answer of a kind; what was asked for is done. */
  const failing = (kind: string): [string, string] => {
    const type = `"type":"io.nats.jetstream.api.v1.${kind}_response",`;
    return [type, '"error":{"code":503,"description":"no leader"},'.padEnd(type.length)];
  };

  it('a loss is told though the answer that it was mended was lost', async () => {
    const line = await openLine(server.port);
    const bus = await open({ servers: line.url, maintainEveryMs: 50, replicas: 1 });
    const errors = await listen(bus, 'system.error');
    const admin = await connect({ servers: server.url });
    line.alter([failing('stream_create')]);
    await (await jetstreamManager(admin)).streams.delete('bus-dead');
    await admin.close();
    await errors.count(1);
    expect(line.unaltered).toBe(0);
    expect(errors.payloads()).toEqual([
      expect.objectContaining({ error: expect.stringContaining('The dead letters are lost.') }),
    ]);
    await bus.stop();
    await line.close();
  });

  it('a message that NATS knows and has not stored is taken by another leader, once', async () => {
    const line = await openLine(server.port);
    const bus = await open({ servers: line.url });
    const admin = await connect({ servers: server.url });
    const asked = Promise.withResolvers<void>();
    admin.subscribe('$JS.API.STREAM.LEADER.STEPDOWN.bus-journal', { callback: () => asked.resolve() });
    await admin.flush();
    // As a server answers that lost the lead between noting an id and storing its message, and leads again.
    line.alter(numbers(20).map(() => ['"seq":1', '"seq":0']));
    const first = bus.publish({ topic: 'message.inbound.a', payload: 1 });
    const second = bus.publish({ topic: 'message.inbound.a', payload: 2 });
    await asked.promise;
    await Promise.all([first, second]);
    expect(line.unaltered).toBe(0);
    expect((await bus.history()).map(({ message }) => message.payload)).toEqual([1, 2]);
    await admin.close();
    await bus.stop();
    await line.close();
  });

  it('a subscriber leaves though the journal has no leader, and can come back', async () => {
    const line = await openLine(server.port);
    const bus = await open({ servers: line.url });
    const handled: unknown[] = [];
    const join = () =>
      bus.subscribe('message.inbound.#', ({ payload }) => void handled.push(payload), { durable: 'reader' });
    const first = await join();
    line.alter([failing('stream_info')]);
    await first.unsubscribe();
    expect(line.unaltered).toBe(0);
    await bus.publish({ topic: 'message.inbound.a', payload: 1 });
    await join();
    await vi.waitFor(() => expect(handled).toEqual([1]), patience);
    await bus.stop();
    await line.close();
  });

  it('a bucket that vanished is told though it is opened anew, or somebody who starts creates it first', async () => {
    const bus = await open();
    const loggers = [recordingLogger(), recordingLogger()];
    const others = await Promise.all(loggers.map((logger) => open({ logger, maintainEveryMs: 50 })));
    const errors = await listen(bus, 'system.error');
    const told = () => errors.messages.map(({ payload }) => (payload as { stream: string }).stream);
    for (const each of [bus, ...others]) await each.memory('hooks', { ttlMs: 60_000 });
    const admin = await connect({ servers: server.url });
    const manager = await jetstreamManager(admin);
    await manager.streams.delete('KV_bus-memory-60000');
    await bus.memory('incidents', { ttlMs: 60_000 });
    await vi.waitFor(() => expect(told()).toEqual(['KV_bus-memory-60000']), patience);
    // As by one that starts: nobody who knew the old one has created it.
    const { config } = await manager.streams.info('bus-dead');
    await manager.streams.delete('bus-dead');
    await manager.streams.add(config);
    await admin.close();
    const haveSeen = () =>
      loggers.every(({ lines }) => lines.some(({ text }) => text.includes('bus-dead had vanished')));
    await vi.waitFor(() => expect([haveSeen(), told().includes('bus-dead')]).toEqual([true, true]), patience);
    expect(told()).toEqual(['KV_bus-memory-60000', 'bus-dead']);
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
  });

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
    expect((await bus.request('question', 1, { timeoutMs: 60_000 })).payload).toBe('answer');
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
