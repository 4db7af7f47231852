import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsCluster, natsMissing, startNatsCluster } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, numbers, recordingLogger } from '../suites/world.suite.ts';

/** Elections take seconds. */
const election = { timeout: 120_000, interval: 50 };
const topic = 'message.inbound.x';
const pattern = 'message.inbound.#';

describe.skipIf(natsMissing)(`a NATS cluster of three${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let cluster: NatsCluster;
  let admin: NatsConnection;
  let buses: Bus[];
  let prefix = '';
  let worlds = 0;
  beforeAll(async () => {
    cluster = await startNatsCluster();
    admin = await connect({ servers: cluster.url.split(','), maxReconnectAttempts: -1 });
  });
  afterAll(async () => {
    await admin.close();
    await cluster.stop();
  });
  beforeEach(() => {
    worlds += 1;
    prefix = `ha${worlds}`;
    buses = [];
  });
  afterEach(() => Promise.all(buses.map((bus) => bus.stop())));

  async function open(options: Partial<NatsBusOptions> = {}): Promise<Bus> {
    const fast = { drainTimeoutMs: 1000, ackWaitMs: 2000, retainBytes: 20_000_000 };
    const bus = await createNatsBus({
      ...fast,
      waitForServers: true,
      ...options,
      servers: cluster.url,
      prefix,
    });
    buses.push(bus);
    await vi.waitFor(() => bus.probe(), election);
    return bus;
  }

  const streamManager = () => jetstreamManager(admin, { timeout: 60_000 });
  const copies = async (bus: Bus) =>
    Object.fromEntries(
      (await bus.cluster()).streams.map(({ name, replicas }) => [name.replace(prefix, ''), replicas]),
    );
  const journal = async (bus: Bus) => {
    const { streams } = await bus.cluster();
    const found = streams.find(({ name }) => name === `${prefix}-journal`);
    if (found === undefined) throw new Error('The bus tells of no journal.');
    return found;
  };
  const server = (name: string | undefined) => {
    const found = cluster.servers[name ?? ''];
    if (found === undefined) throw new Error(`There is no server ${name}.`);
    return found;
  };

  it('keeps three copies of streams, buckets and leases, and names who has them', async () => {
    const bus = await open();
    await bus.memory('hooks', { ttlMs: 60_000 });
    await bus.lease('leader', { ttlMs: 1000 });
    expect(await copies(bus)).toEqual({
      '-journal': 3,
      '-dead': 3,
      'KV_-progress': 3,
      'KV_-memory-60000': 3,
      'KV_-lease-1000': 3,
    });
    expect(await bus.cluster()).toMatchObject({ name: 'test', server: expect.stringMatching(/^n[123]$/) });
    const { leader, peers } = await journal(bus);
    expect([leader, ...peers.map(({ name }) => name)].toSorted()).toEqual(['n1', 'n2', 'n3']);
  });

  it('raises what has fewer copies and says so, and never lowers what the operator raised', async () => {
    const first = await open({ replicas: 1 });
    expect((await copies(first))['-journal']).toBe(1);
    await first.publish({ topic, payload: 'kept' });
    await first.stop();
    const logger = recordingLogger();
    const second = await open({ logger, maintainEveryMs: 500 });
    expect(await copies(second)).toMatchObject({ '-journal': 3, '-dead': 3, 'KV_-progress': 3 });
    const raised = () => logger.lines.filter(({ text }) => text === 'stream replicas raised').length;
    expect(raised()).toBe(3);
    // As one that was made while the servers were still starting: the running bus raises it.
    await (await streamManager()).streams.update(`${prefix}-dead`, { num_replicas: 1 });
    await vi.waitFor(() => expect(raised()).toBe(4), election);
    expect(await copies(second)).toMatchObject({ '-dead': 3 });
    await second.stop();
    const third = await open({ replicas: 1 });
    expect(await copies(third)).toMatchObject({ '-journal': 3, '-dead': 3, 'KV_-progress': 3 });
    expect((await third.history()).map(({ message }) => message.payload)).toEqual(['kept']);
  });

  it('creates again what has vanished, goes on, and says once what may be lost', async () => {
    const logger = recordingLogger();
    // An answer that came too late is made up for by the next look.
    const bus = await open({ logger, maintainEveryMs: 500 });
    const reader = await listen(bus, pattern, { durable: 'reader' });
    const hooks = await bus.memory('hooks', { ttlMs: 60_000 });
    const lease = await bus.lease('leader', { ttlMs: 1000 });
    const errors = await listen(bus, 'system.error');
    await bus.publish({ topic, payload: 'before' });
    await reader.count(1);
    const manager = await streamManager();
    for (const name of ['journal', 'dead']) await manager.streams.delete(`${prefix}-${name}`);
    for (const name of ['progress', 'memory-60000', 'lease-1000'])
      await manager.streams.delete(`KV_${prefix}-${name}`);
    const later = numbers(20).map((payload) => bus.publish({ topic, payload }));
    await Promise.all(later);
    await reader.count(21);
    expect(reader.payloads()).toEqual(['before', ...numbers(20)]);
    expect(await hooks.keep('key', 'after')).toBe('after');
    await vi.waitFor(() => lease.confirm(), election);
    await vi.waitFor(() => expect(errors.messages).toHaveLength(5), election);
    const loud = logger.lines.filter(({ level, text }) => level === 'error' && text.includes('vanished'));
    expect(loud.map(({ text }) => text)).toEqual([
      expect.stringContaining('Messages that were accepted before and not yet handled are lost'),
      expect.stringContaining('dead letters are lost'),
      expect.stringContaining('counted from the start'),
      expect.stringContaining('Webhooks that were accepted before can be accepted once more'),
      expect.stringContaining('Who leads is decided anew'),
    ]);
    expect((await copies(bus))['-journal']).toBe(3);
  });

  it('takes messages while the leader of the journal is killed: each once, in order, none refused', async () => {
    const [one, two] = [await open(), await open()];
    const reader = await listen(two, pattern, { durable: 'reader', queueLimit: 5000 });
    const count = 600;
    let sent = 0;
    const publishing = (async () => {
      for (const payload of numbers(count)) {
        await one.publish({ topic, payload, id: `message-${payload}` });
        sent += 1;
      }
    })();
    await vi.waitFor(() => expect(sent).toBeGreaterThan(100), election);
    const victim = server((await journal(two)).leader);
    await victim.kill('SIGKILL');
    await publishing;
    await vi.waitFor(() => expect(reader.messages.length).toBeGreaterThanOrEqual(count), election);
    expect(reader.payloads()).toEqual(numbers(count));
    expect(await one.history({ limit: 1000 })).toHaveLength(count);
    await victim.start();
    // Of a journal at rest 2.10 tells that the copy of a server that came back is behind, until something is stored.
    await vi.waitFor(async () => {
      await one.publish({ topic, payload: 'more' });
      expect((await journal(one)).peers.every(({ current }) => current)).toBe(true);
    }, election);
  });

  it('is not ready without a majority: the probe says so and publishers are refused in time, and all comes back', async () => {
    // A server that was killed may not count yet: the bus raises what was made meanwhile.
    const bus = await open({ publishTimeoutMs: 1500, maintainEveryMs: 500 });
    await vi.waitFor(async () => {
      const { replicas, peers } = await journal(bus);
      expect([replicas, peers.filter(({ current }) => current).length]).toEqual([3, 2]);
    }, election);
    const { leader, peers } = await journal(bus);
    await vi.waitFor(() => bus.publish({ topic, payload: 'before', id: 'before' }), election);
    const others = peers.map(({ name }) => server(name));
    for (const other of others) await other.kill('SIGKILL');
    await vi.waitFor(async () => {
      await expect(bus.probe()).rejects.toMatchObject({ code: 'unavailable' });
    }, election);
    await expect(bus.publish({ topic, payload: 'during', id: 'during' })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('with the same id, during'),
    });
    await Promise.all(others.map((other) => other.start()));
    await vi.waitFor(() => bus.probe(), election);
    await vi.waitFor(() => bus.publish({ topic, payload: 'during', id: 'during' }), election);
    expect((await bus.history()).map(({ message }) => message.id)).toEqual(['before', 'during']);
    expect(leader).toMatch(/^n[123]$/);
  });

  const halted = {
    'leader of the journal': async (bus: Bus) => (await journal(bus)).leader,
    'server that the bus talks to': async (bus: Bus) => (await bus.cluster()).server,
  };
  it.each(Object.entries(halted))(
    'may stand still for a while: a paused %s does no harm',
    async (_, nameOf) => {
      // Elections are slow where the machine is busy; how long a publisher waits is not what this shows.
      const bus = await open({ publishTimeoutMs: 60_000 });
      const reader = await listen(bus, pattern, { durable: 'reader' });
      await bus.publish({ topic, payload: 'before' });
      const paused = server(await nameOf(bus));
      process.kill(paused.pid, 'SIGSTOP');
      const during = bus.publish({ topic, payload: 'during', id: 'during' });
      await during.finally(() => process.kill(paused.pid, 'SIGCONT'));
      await bus.publish({ topic, payload: 'after' });
      await reader.count(3);
      await vi.waitFor(() => bus.probe(), election);
      expect(reader.payloads()).toEqual(['before', 'during', 'after']);
      // The server that woke lacks what was stored meanwhile: whatever it answers, a read reaches what was acknowledged.
      expect(await bus.history()).toHaveLength(3);
    },
    240_000,
  );
});
