import { type Bus, createEmbeddedBus } from '@trunkline/bus';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import type { CommonOptions } from '../options.ts';
import { describeDelivery } from '../suites/delivery.suite.ts';
import { describeDurable } from '../suites/durable.suite.ts';
import { describeFailures } from '../suites/failure.suite.ts';
import { describeHistory } from '../suites/history.suite.ts';
import { describeMemory } from '../suites/memory.suite.ts';
import { describePaging } from '../suites/paging.suite.ts';
import { describeRedelivery } from '../suites/redelivery.suite.ts';
import type { World } from '../suites/world.suite.ts';

async function embeddedWorld(): Promise<World> {
  const directory = temporaryDirectory();
  const buses: Bus[] = [];
  return {
    async open(options: CommonOptions = {}) {
      const bus = await createEmbeddedBus({ drainTimeoutMs: 2000, ...options, directory: directory.path });
      buses.push(bus);
      return bus;
    },
    async close() {
      await Promise.all(buses.map((bus) => bus.stop()));
      directory.remove();
    },
  };
}

describe('embedded', () => {
  describeDelivery(embeddedWorld);
  describeFailures(embeddedWorld);
  describeDurable(embeddedWorld);
  describeRedelivery(embeddedWorld);
  describeHistory(embeddedWorld);
  describeMemory(embeddedWorld);
  describePaging(embeddedWorld);

  it('refuses a journal that another bus has open, and takes it when that has stopped', async () => {
    const directory = temporaryDirectory();
    const first = await createEmbeddedBus({ directory: directory.path });
    await expect(createEmbeddedBus({ directory: directory.path })).rejects.toMatchObject({
      code: 'journal_in_use',
      message: expect.stringContaining(directory.path),
    });
    await first.stop();
    const second = await createEmbeddedBus({ directory: directory.path });
    await second.stop();
    directory.remove();
  });
});
