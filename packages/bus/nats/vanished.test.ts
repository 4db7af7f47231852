import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import { type Bus, createNatsBus } from '@trunkline/bus';
import {
  type NatsServer,
  natsMissing,
  startNatsServer,
  type TemporaryDirectory,
  temporaryDirectory,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, patience } from '../suites/world.suite.ts';

const journal = 'bus-journal';
const bucket = 'KV_bus-memory-60000';

describe.skipIf(natsMissing)(
  `what vanishes from NATS while no bus runs${natsMissing ? `: ${natsMissing}` : ''}`,
  () => {
    let [server, home] = [] as unknown as [NatsServer, TemporaryDirectory];
    let buses: Bus[] = [];
    let ttlMs = 60_000;
    beforeEach(async () => {
      server = await startNatsServer();
      home = temporaryDirectory();
      buses = [];
    });
    afterEach(async () => {
      await Promise.all(buses.map((bus) => bus.stop()));
      await server.stop();
      home.remove();
    });

    async function open(file = 'streams.json'): Promise<Bus> {
      const streamsFile = join(home.path, file);
      const bus = await createNatsBus({ servers: server.url, drainTimeoutMs: 500, streamsFile });
      buses.push(bus);
      return bus;
    }

    /** Opens a bus as a switchboard does: a bucket is opened before anybody listens. */
    async function started(file?: string) {
      const bus = await open(file);
      await bus.memory('hooks', { ttlMs: 60_000 });
      return { bus, errors: await listen(bus, 'system.error') };
    }

    async function administer<Result>(work: (nats: Awaited<ReturnType<typeof connect>>) => Promise<Result>) {
      const admin = await connect({ servers: server.url });
      try {
        return await work(admin);
      } finally {
        await admin.close();
      }
    }

    const remove = (names: readonly string[]) =>
      administer(async (admin) => {
        const manager = await jetstreamManager(admin);
        for (const name of names) await manager.streams.delete(name);
      });

    type Heard = Awaited<ReturnType<typeof started>>;
    const streams = ({ errors }: Heard) =>
      errors.messages.map(({ payload }) => (payload as { stream?: string }).stream);

    /** Losses are reported one after the other: whatever was found at the start has been reported when this one is. */
    async function loseAnother(heard: Heard): Promise<string> {
      ttlMs += 1000;
      const another = `KV_bus-memory-${ttlMs}`;
      const memory = await heard.bus.memory('another', { ttlMs });
      await remove([another]);
      await memory.keep('key', 'value');
      await vi.waitFor(() => expect(streams(heard)).toContain(another), patience);
      return another;
    }

    async function reportedAtStart(file?: string): Promise<(string | undefined)[]> {
      const heard = await started(file);
      const another = await loseAnother(heard);
      return streams(heard).filter((stream) => stream !== another);
    }

    it('is reported once, at the next start, with what is lost', async () => {
      expect(await reportedAtStart()).toEqual([]);
      await buses[0]?.stop();
      await remove([journal, bucket]);
      const second = await started();
      await vi.waitFor(() => expect(streams(second)).toHaveLength(2), patience);
      expect(streams(second).toSorted()).toEqual([bucket, journal]);
      expect(JSON.stringify(second.errors.payloads())).toContain(
        'accepted before and not yet handled are lost',
      );
      await vi.waitFor(async () => {
        const { created } = await administer(async (admin) =>
          (await jetstreamManager(admin)).streams.info(journal),
        );
        expect(readFileSync(join(home.path, 'streams.json'), 'utf8')).toContain(created);
      }, patience);
      await second.bus.stop();
      expect(await reportedAtStart()).toEqual([]);
    });

    it('is reported once by several, also by one that starts later', async () => {
      for (const file of ['one.json', 'two.json']) await (await started(file)).bus.stop();
      await remove([journal]);
      const one = await started('one.json');
      await vi.waitFor(() => expect(streams(one)).toEqual([journal]), patience);
      const two = await started('two.json');
      const another = await loseAnother(two);
      expect(streams(two)).toEqual([another]);
      await vi.waitFor(() => expect(streams(one)).toEqual([journal, another]), patience);
    });

    it('is not confused with a restart of the server, nor with a first start', async () => {
      await (await started()).bus.stop();
      await server.kill('SIGKILL');
      await server.start();
      expect(await reportedAtStart()).toEqual([]);
      expect(await reportedAtStart('new.json')).toEqual([]);
    });

    it('is reported though whoever had begun to report it died before it did', async () => {
      await (await started()).bus.stop();
      await administer(async (admin) => {
        const manager = await jetstreamManager(admin);
        const { config } = await manager.streams.info(journal);
        await manager.streams.delete(journal);
        const { created } = await manager.streams.add(config);
        const marks = await new Kvm(jetstream(admin)).open('bus-progress');
        await marks.create(`vanished.${journal}.${Date.parse(created)}`, '');
      });
      const heard = await started();
      await vi.waitFor(() => expect(streams(heard)).toEqual([journal]), { ...patience, timeout: 60_000 });
    });
  },
);
