import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, patience, recordingLogger } from '../suites/world.suite.ts';
import { WaitingBus } from './waiting-bus.ts';

describe.skipIf(natsMissing)(`a bus that waits for NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let buses: Bus[];
  beforeEach(async () => {
    server = await startNatsServer({ configuration: 'authorization { user: u, password: p }' });
    buses = [];
  });
  afterEach(async () => {
    await Promise.all(buses.map((bus) => bus.stop()));
    await server.stop();
  });

  async function open(options: Partial<NatsBusOptions> = {}): Promise<Bus> {
    const access = { servers: server.url, user: 'u', password: 'p', retainBytes: 20_000_000 };
    const bus = await createNatsBus({ ...access, waitForServers: true, drainTimeoutMs: 500, ...options });
    buses.push(bus);
    return bus;
  }

  it('is there before the server, says what is wrong, and then does all that was asked of it', async () => {
    await server.kill();
    const logger = recordingLogger();
    const bus = await open({ logger });
    expect(bus.status()).toMatchObject({
      connected: false,
      problem: expect.stringMatching(/cannot be reached.*NATS_URL/),
    });
    await expect(bus.probe()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(bus.history()).rejects.toMatchObject({ code: 'unavailable' });
    const reader = listen(bus, 'message.inbound.#', { durable: 'reader' });
    const published = reader.then(() => bus.publish({ topic: 'message.inbound.a', payload: 1 }));
    const lease = bus.lease('leader', { ttlMs: 1000 });
    await server.start();
    await published;
    await (await reader).count(1);
    expect((await lease).token).toBeTypeOf('number');
    expect(bus.status()).toMatchObject({ connected: true });
    expect(bus.status().problem).toBeUndefined();
    await bus.probe();
    expect(logger.lines.map(({ text }) => text)).toEqual(
      expect.arrayContaining(['waiting for NATS', 'NATS reached']),
    );
  });

  it('refuses publishers in time and in number', async () => {
    await server.kill();
    const bus = await open({ publishTimeoutMs: 200, maxPending: 1 });
    const late = expect(bus.publish({ topic: 'message.inbound.a', payload: 1 })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('cannot be reached'),
    });
    expect(bus.status().pending).toBe(1);
    await expect(bus.publish({ topic: 'message.inbound.a', payload: 2 })).rejects.toMatchObject({
      code: 'overloaded',
    });
    await late;
    expect(bus.status().pending).toBe(0);
  });

  it('goes on subscribing while a cluster that has just come elects leaders, and says so', async () => {
    const subscription = { pattern: '#', unsubscribe: async () => undefined, forget: async () => undefined };
    const { promise: elected, resolve: elect } = Promise.withResolvers<void>();
    let isElected = false;
    void elected.then(() => {
      isElected = true;
    });
    const real = {
      status: () => ({ engine: 'nats', connected: true }),
      subscribe: async () => {
        if (isElected) return subscription;
        throw new Error('no responders');
      },
      stop: async () => undefined,
    };
    const bus = new WaitingBus({
      open: async () => real as unknown as Bus,
      failure: new Error('cannot be reached'),
      settings: { publishTimeoutMs: 200, maxPending: 1 },
      logger: recordingLogger(),
    });
    const subscribing = bus.subscribe('#', () => undefined);
    await vi.waitFor(() => expect(bus.status()).toMatchObject({ problem: 'no responders' }), patience);
    elect();
    expect(await subscribing).toBe(subscription);
    expect(bus.status().problem).toBeUndefined();
    await bus.stop();
  });

  it('holds the start open while the servers stand still, and fails in time once the service has started', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    const bus = await open({ publishTimeoutMs: 100, started });
    const stop = () => process.kill(server.pid, 'SIGSTOP');
    stop();
    const subscribing = listen(bus, 'message.inbound.#', { durable: 'reader' });
    const lease = bus.lease('leader', { ttlMs: 1000 });
    const memory = bus.memory('notes', { ttlMs: 60_000 });
    await vi.waitFor(() => expect(bus.status().problem).toMatch(/timeout/i), patience);
    process.kill(server.pid, 'SIGCONT');
    await subscribing;
    expect((await lease).token).toBeTypeOf('number');
    await (await memory).keep('a', 'b');
    await vi.waitFor(() => expect(bus.status().problem).toBeUndefined(), patience);
    start();
    await started;
    stop();
    try {
      await expect(bus.memory('others', { ttlMs: 60_000 })).rejects.toThrow(/timeout|NATS/i);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
  });

  it('does not wait where the credentials are wrong', async () => {
    await expect(open({ password: 'wrong' })).rejects.toMatchObject({ code: 'connection_refused' });
  });

  it('ends at once when it is stopped while it waits', async () => {
    await server.kill();
    const bus = await open();
    const subscribing = expect(bus.subscribe('#', () => undefined)).rejects.toMatchObject({
      code: 'stopped',
    });
    await bus.stop();
    await subscribing;
    await vi.waitFor(() => expect(bus.status().connected).toBe(false), patience);
  });
});
