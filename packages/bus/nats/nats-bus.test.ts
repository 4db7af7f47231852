import { type Bus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe } from 'vitest';

import type { CommonOptions } from '../options.ts';
import { describeDelivery } from '../suites/delivery.suite.ts';
import { describeDurable } from '../suites/durable.suite.ts';
import { describeFailures } from '../suites/failure.suite.ts';
import { describeHistory } from '../suites/history.suite.ts';
import { describeMemory } from '../suites/memory.suite.ts';
import { describePaging } from '../suites/paging.suite.ts';
import { describeRedelivery } from '../suites/redelivery.suite.ts';
import type { World } from '../suites/world.suite.ts';

describe.skipIf(natsMissing)(`on NATS${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let worlds = 0;
  beforeAll(async () => {
    server = await startNatsServer();
  });
  afterAll(() => server.stop());

  async function natsWorld(): Promise<World> {
    worlds += 1;
    const prefix = `test${worlds}`;
    const buses: Bus[] = [];
    return {
      async open(options: CommonOptions = {}) {
        const fast = { drainTimeoutMs: 2000, ackWaitMs: 1000, retainBytes: 50_000_000 };
        const bus = await createNatsBus({ ...fast, ...options, servers: server.url, prefix });
        buses.push(bus);
        return bus;
      },
      async close() {
        await Promise.all(buses.map((bus) => bus.stop()));
      },
    };
  }

  describeDelivery(natsWorld);
  describeFailures(natsWorld);
  describeDurable(natsWorld);
  describeRedelivery(natsWorld);
  describeHistory(natsWorld);
  describeMemory(natsWorld);
  describePaging(natsWorld);
});
