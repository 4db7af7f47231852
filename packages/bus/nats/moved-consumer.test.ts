import { type Bus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Line, openLine } from '../fixtures/line.ts';
import { listen, patience } from '../suites/world.suite.ts';

const options = { drainTimeoutMs: 500, ackWaitMs: 1000, retainBytes: 50_000_000, publishTimeoutMs: 1000 };

describe.skipIf(natsMissing)(`a durable name on NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let line: Line;
  beforeEach(async () => {
    server = await startNatsServer();
    line = await openLine(server.port);
  });
  afterEach(async () => {
    await line.close();
    await server.stop();
  });

  const open = (servers: string): Promise<Bus> => createNatsBus({ ...options, servers });

  it('keeps its place though the process ended between giving up the old pattern and taking the new', async () => {
    let bus = await open(line.url);
    const first = await bus.subscribe('message.inbound.a', () => undefined, { durable: 'reader' });
    await bus.publish({ topic: 'message.inbound.a', payload: 'before' });
    await first.unsubscribe();
    for (const payload of ['one', 'two']) await bus.publish({ topic: 'message.inbound.b', payload });
    line.cutAfter('$JS.API.CONSUMER.DELETE.', 'CREATE');
    const changed = bus.subscribe('message.inbound.#', () => undefined, { durable: 'reader' });
    await expect(changed).rejects.toThrow();
    await bus.stop();

    bus = await open(server.url);
    const next = await listen(bus, 'message.inbound.#', { durable: 'reader' });
    await bus.publish({ topic: 'message.inbound.b', payload: 'three' });
    // The first subscriber left without waiting for 'before': it may come here, or come again.
    const later = () => next.payloads().filter((payload) => payload !== 'before');
    await vi.waitFor(() => expect(later()).toEqual(['one', 'two', 'three']), patience);
    await bus.stop();
  });
});
