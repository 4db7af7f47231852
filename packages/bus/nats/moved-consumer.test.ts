import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Bus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../suites/world.suite.ts';

const options = { drainTimeoutMs: 500, ackWaitMs: 1000, retainBytes: 50_000_000, publishTimeoutMs: 1000 };

describe.skipIf(natsMissing)(`a durable name on NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let line: Line;
  beforeEach(async () => {
    server = await startNatsServer();
    line = await openLine(Number(new URL(server.url).port));
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
    await next.count(3);
    expect(next.payloads().filter((payload) => payload !== 'before')).toEqual(['one', 'two', 'three']);
    await bus.stop();
  }, 60_000);
});

interface Line {
  url: string;
  /** Cuts the line for good when the second text follows the first. */
  cutAfter(first: string, second: string): void;
  close(): Promise<void>;
}

/** A line to the server that can be cut between two words. */
async function openLine(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let awaited: string[] | undefined;
  let isCut = false;
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const pass = (chunk: Buffer, onward: Socket) => {
    while (awaited?.[0] !== undefined && chunk.includes(awaited[0])) awaited.shift();
    if (awaited?.length === 0) cut();
    else onward.write(chunk);
  };
  const tie = (near: Socket) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => [near, far].forEach((end) => void end.destroy()));
    }
    near.on('data', (chunk: Buffer) => pass(chunk, far));
    far.pipe(near);
  };
  const relay = createServer((near) => void (isCut ? near.destroy() : tie(near))).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `nats://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    cutAfter: (...texts) => {
      awaited = texts;
    },
    async close() {
      cut();
      relay.close();
      await once(relay, 'close');
    },
  };
}
