import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Bus, createNatsBus, type NatsBusOptions } from '@trunkline/bus';
import { type NatsServer, natsMissing, startNatsServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen, patience, recordingLogger } from '../suites/world.suite.ts';
import { joinedSubjects, lackingSubjects } from './stream-subjects.ts';

const older = ['message.#', 'task.done'];
const newer = ['message.#', 'task.#', 'cluster.flows'];
const journal = 'bus-journal';
/** The second user may do everything but change a stream. */
const users = `authorization { users: [
  { user: admin, password: a },
  { user: board, password: b, permissions: { publish: { deny: ["$JS.API.STREAM.UPDATE.>"] } } }
] }`;

describe.skipIf(natsMissing)(`buses of two releases${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  let server: NatsServer;
  let admin: NatsConnection;
  let manager: JetStreamManager;
  let buses: Bus[];
  beforeEach(async () => {
    server = await startNatsServer({ configuration: users });
    admin = await connect({ servers: server.url, user: 'admin', pass: 'a' });
    manager = await jetstreamManager(admin);
    buses = [];
  });
  afterEach(async () => {
    await Promise.all(buses.map((bus) => bus.stop()));
    await admin.close();
    await server.stop();
  });

  async function open(durableTopics: string[], options: Partial<NatsBusOptions> = {}): Promise<Bus> {
    const access = { servers: server.url, user: 'admin', password: 'a' };
    const bus = await createNatsBus({ ...access, durableTopics, drainTimeoutMs: 500, ...options });
    buses.push(bus);
    return bus;
  }
  const subjects = async () => (await manager.streams.info(journal)).config.subjects;
  /** As a release did that knew nothing of others. */
  const overwrite = () => manager.streams.update(journal, { subjects: ['bus.message.>', 'bus.task.done.~'] });

  it.each([
    ['the older', newer, older],
    ['the newer', older, newer],
  ])('both publish and read everything, when %s starts last', async (_, first, last) => {
    const [one, two] = [await open(first), await open(last)];
    const old = first === older ? one : two;
    const young = first === older ? two : one;
    const seen = await listen(young, 'task.#', { durable: 'young' });
    const seenOld = await listen(old, 'task.done', { durable: 'old' });
    for (const bus of [old, young])
      for (const topic of ['message.a', 'task.done', 'task.begun', 'cluster.flows'])
        await bus.publish({ topic, payload: bus === old ? 'old' : 'young' });
    await seen.count(4);
    await seenOld.count(2);
    const topics = ['message.a', 'task.done', 'task.begun', 'cluster.flows'];
    const all = [...topics, ...topics].toSorted();
    for (const bus of [old, young])
      expect((await bus.history()).map(({ message }) => message.topic).toSorted()).toEqual(all);
    expect((await subjects()).toSorted()).toEqual(['bus.cluster.flows.~', 'bus.message.>', 'bus.task.>']);
  });

  it('one whose topics the stream has lost adds them again, and nothing is refused or doubled', async () => {
    const logger = recordingLogger();
    const bus = await open(newer, { logger });
    const handled = await listen(bus, 'task.#', { durable: 'young' });
    await overwrite();
    const sent = ['cluster.flows', 'message.a', 'task.begun'];
    await Promise.all(sent.map((topic) => bus.publish({ topic, payload: topic })));
    expect((await bus.history()).map(({ message }) => message.topic).toSorted()).toEqual(sent);
    await handled.count(1);
    expect(logger.lines.filter(({ text }) => text.startsWith('stream lacks subjects'))).toHaveLength(1);
    await bus.probe();
  });

  it('a journal that is created again has the topics of both', async () => {
    const fast = { maintainEveryMs: 50 };
    await open(older, fast);
    await open(newer, fast);
    await manager.streams.delete(journal);
    await vi.waitFor(
      async () =>
        expect(lackingSubjects(await subjects(), ['bus.task.>', 'bus.cluster.flows.~'])).toEqual([]),
      patience,
    );
  });

  it('what cannot be stored is refused with words, holds up nothing, and the bus is not ready', async () => {
    const bus = await open(newer);
    const limited = await open(newer, { user: 'board', password: 'b' });
    await bus.stop();
    await limited.probe();
    await overwrite();
    const refused = limited.publish({ topic: 'cluster.flows', payload: 1 });
    const behind = limited.publish({ topic: 'message.a', payload: 2 });
    behind.catch(() => undefined);
    await expect(refused).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/does not take .*bus\.cluster\.flows\.~.*refused to add/),
    });
    await behind;
    expect((await limited.history()).map(({ message }) => message.topic)).toEqual(['message.a']);
    await expect(limited.probe()).rejects.toThrow('bus.cluster.flows.~');
    await manager.streams.update(journal, {
      subjects: ['bus.message.>', 'bus.task.>', 'bus.cluster.flows.~'],
    });
    await vi.waitFor(() => limited.probe(), patience);
    await limited.publish({ topic: 'cluster.flows', payload: 3 });
  });

  it('restores other streams though NATS refuses a subject, and logs the refusal once', async () => {
    const logger = recordingLogger();
    const bus = await open(newer, { user: 'board', password: 'b', logger });
    await overwrite();
    await expect(bus.publish({ topic: 'cluster.flows', payload: 1 })).rejects.toThrow('refused to add');
    for (const stream of ['bus-dead', 'KV_bus-progress']) {
      await manager.streams.delete(stream);
      await vi.waitFor(async () => {
        await expect(bus.probe()).rejects.toThrow('refused to add');
        await manager.streams.info(stream);
      }, patience);
    }
    const warnings = logger.lines.filter(({ level }) => level === 'warn').map(({ text }) => text);
    expect(warnings.filter((text) => text === 'failed to add subjects')).toHaveLength(1);
    expect(warnings.filter((text) => text.startsWith('stream lacks subjects'))).toHaveLength(1);
  });

  it('is not ready while what waits is not stored, though the journal answers', async () => {
    const bus = await open(newer, { user: 'board', password: 'b' });
    // Takes the subject of the journal and never answers.
    await overwrite();
    await manager.streams.add({ name: 'silent', subjects: ['bus.cluster.>'], no_ack: true });
    const waiting = bus.publish({ topic: 'cluster.flows', payload: 1 });
    waiting.catch(() => undefined);
    await vi.waitFor(() => expect(bus.probe()).rejects.toThrow('Messages wait for NATS'), patience);
    await manager.streams.delete('silent');
    await manager.streams.update(journal, { subjects: ['bus.>'] });
    await waiting;
    await vi.waitFor(() => bus.probe(), patience);
  });
});

it.each([
  [['a.>'], ['a.b.~', 'c.~'], ['a.>', 'c.~']],
  [['a.b.~', 'c.~'], ['a.>'], ['c.~', 'a.>']],
  [['a.*.~'], ['a.b.~'], ['a.*.~']],
  [['a.>'], ['a'], ['a.>', 'a']],
  [['>'], ['a.b'], ['>']],
])('the subjects %j and %j are %j', (known, wanted, joined) => {
  expect(joinedSubjects(known, wanted)).toEqual(joined);
  expect(lackingSubjects(joined, [...known, ...wanted])).toEqual([]);
});
