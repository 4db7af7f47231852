import { cpSync, rmSync } from 'node:fs';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Bus, createNatsBus } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer, waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Line, openLine } from '../fixtures/line.ts';
import { recordingLogger } from '../suites/world.suite.ts';

const topic = 'message.inbound.x';

/** A real server whose answers are altered to what a copy says that has not caught up. */
describe.skipIf(natsMissing)(
  `a copy of the journal that is behind${natsMissing ? `: ${natsMissing}` : ''}`,
  () => {
    let server: NatsServer;
    let line: Line;
    let bus: Bus;
    let prefix = '';
    let worlds = 0;
    beforeAll(async () => {
      server = await startNatsServer();
    });
    afterAll(() => server.stop());
    beforeEach(async () => {
      line = await openLine(server.port);
      worlds += 1;
      prefix = `stale${worlds}`;
      bus = await createNatsBus({ drainTimeoutMs: 500, retainBytes: 20_000_000, servers: line.url, prefix });
      for (const payload of ['one', 'two', 'three']) await bus.publish({ topic, payload });
    });
    afterEach(async () => {
      await bus.stop();
      await line.close();
    });
    const payloads = async (query = {}) =>
      (await bus.history(query)).map(({ message: { payload } }) => payload);

    it.each([{}, { topic }, { after: 0 }, { topic, after: 1 }])(
      'is read again elsewhere where the server of the reader lacks messages: %o',
      async (query) => {
        const left = query.after === 1 ? 2 : 3;
        line.alter([[`"num_pending":${left}`, `"num_pending":${left - 1}`]]);
        expect(await payloads(query)).toEqual(['one', 'two', 'three'].slice(-left));
        expect(line.unaltered).toBe(0);
      },
    );

    it('is asked again where a server that takes itself for the leader lacks what was acknowledged', async () => {
      line.alter([
        ['"last_seq":3', '"last_seq":2'],
        ['"num_pending":3', '"num_pending":2'],
      ]);
      expect(await payloads()).toEqual(['one', 'two', 'three']);
      expect(line.unaltered).toBe(0);
    });

    it.each([{}, { after: 0 }])('is asked again while the servers elect a leader: %o', async (query) => {
      const info = `"config":{"name":"${prefix}-journal"`;
      line.alter([[info, '"error": {"code":503'.padEnd(info.length)]]);
      expect(await payloads(query)).toEqual(['one', 'two', 'three']);
      expect(line.unaltered).toBe(0);
    });

    it('is not waited for where the messages were removed, or the stream is another', async () => {
      const admin = await connect({ servers: server.url });
      try {
        const manager = await jetstreamManager(admin);
        await manager.streams.deleteMessage(`${prefix}-journal`, 3);
        expect(await payloads()).toEqual(['one', 'two']);
        await manager.streams.purge(`${prefix}-journal`);
        expect(await payloads()).toEqual([]);
        const { config } = await manager.streams.info(`${prefix}-journal`);
        await manager.streams.delete(`${prefix}-journal`);
        await manager.streams.add(config);
        await bus.publish({ topic, payload: 'new' });
        expect(await payloads()).toEqual(['new']);
      } finally {
        await admin.close();
      }
    });

    it('is believed where it is the only one and was set back, and what is lost is logged', async () => {
      const backup = `${server.store}-backup`;
      const open = async () => {
        const logger = recordingLogger();
        const settings = { drainTimeoutMs: 500, retainBytes: 20_000_000, prefix, logger };
        const opened = await createNatsBus({ ...settings, servers: server.url });
        const losses = () => logger.lines.filter(({ text }) => text.includes('was set back'));
        return { opened, losses };
      };
      const [reader, writer] = [await open(), await open()];
      const buses = [reader.opened, writer.opened];
      const connected = (wanted: boolean) =>
        waitFor(() => buses.every((each) => each.status().connected === wanted), { timeoutMs: 60_000 });
      try {
        await server.kill('SIGTERM');
        cpSync(server.store, backup, { recursive: true });
        await server.start();
        await connected(true);
        for (const each of [...buses, ...buses]) await each.publish({ topic, payload: 'lost' });
        await server.kill();
        await connected(false);
        rmSync(server.store, { recursive: true });
        cpSync(backup, server.store, { recursive: true });
        await server.start();
        await connected(true);
        const last = async ({ opened }: typeof reader) =>
          (await opened.history({ topic })).at(-1)?.message.payload;
        expect(await last(reader)).toBe('three');
        expect(reader.losses()).toHaveLength(1);
        await writer.opened.publish({ topic, payload: 'four' });
        await waitFor(() => writer.losses().length > 0, { timeoutMs: 60_000 });
        expect(writer.losses()).toHaveLength(1);
        expect(await last(writer)).toBe('four');
      } finally {
        await Promise.all(buses.map((each) => each.stop()));
      }
    });
  },
);
