import { isDeepStrictEqual } from 'node:util';
import type { Bus, Draft, Handler, Message } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import { afterEach, expect, it } from 'vitest';
import { createPeers, type Peers } from './peers.ts';

const logger = createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } });
const megabyte = 1024 * 1024;
const started: Peers[] = [];
afterEach(() => {
  for (const peers of started.splice(0)) peers.stop();
});

/** Switchboards on a bus that takes messages of a megabyte, as NATS does. */
function connect() {
  const handlers = new Map<string, Handler[]>();
  let sent = 0;
  let lost = 0;
  const bus = {
    status: () => ({ engine: 'nats', connected: true }),
    subscribe: async (topic: string, handler: Handler) => {
      handlers.set(topic, [...(handlers.get(topic) ?? []), handler]);
    },
    publish: async (draft: Draft) => {
      if (Buffer.byteLength(JSON.stringify(draft)) > megabyte) throw new Error('maximum payload exceeded');
      sent += 1;
      if (sent === lost) return;
      for (const handler of handlers.get(draft.topic) ?? []) void handler(draft as Message, {} as never);
    },
  } as unknown as Bus;
  let time = 0;
  const join = async (name: string) => {
    const peers = createPeers({ bus, logger, isLeader: () => false, now: () => time });
    started.push(peers);
    await peers.start(name);
    return peers;
  };
  return {
    join,
    sent: () => sent,
    wait: (ms: number) => (time += ms),
    /** The nth message from now on is lost. */
    lose: (nth: number) => (lost = sent + nth),
  };
}

it('gives lists of another switchboard that are larger than a message', async () => {
  const { join, sent } = connect();
  const [one, other] = [await join('one'), await join('other')];
  const rows = Array.from({ length: 1000 }, (_, id) => ({ id, said: 'я'.repeat(300), why: 'я'.repeat(300) }));
  other.offer('rows', () => rows);
  const before = sent();
  const { lists, gap } = await one.askForList('rows', {}, anonymous);
  expect(lists.flat()).toEqual(rows);
  expect(gap).toEqual({});
  // The question and three parts.
  expect(sent() - before).toBe(4);
  other.offer('rows', () => []);
  expect(await one.askForList('rows', {}, anonymous)).toEqual({ lists: [[]], gap: {} });
});

it('gives one thing of another switchboard that is larger than a message, whole or not at all', async () => {
  const { join, sent, lose } = connect();
  const [one, other] = [await join('one'), await join('other')];
  const trace = Array.from({ length: 12 }, (_, at) => ({ at, result: 'я'.repeat(100_000) }));
  other.offer('flow', ({ id }) => ({ id, trace }));
  const before = sent();
  const ask = () => one.askWithGap('flow', { id: 'f' }, anonymous);
  // The difference of texts of this length would take minutes to print.
  expect(isDeepStrictEqual(await ask(), { answers: [{ id: 'f', trace }], gap: {} })).toBe(true);
  const messages = sent() - before;
  expect(messages).toBeGreaterThan(4);
  // A message between that nobody got.
  lose(3);
  expect(await ask()).toEqual({ answers: [], gap: { incomplete: true } });
  expect(sent() - before).toBe(2 * messages);
});

it('says of a list that something is missing while a switchboard does not answer, and after it has gone', async () => {
  const { join, wait } = connect();
  const [one, other] = [await join('one'), await join('other')];
  other.offer('rows', () => new Promise(() => undefined));
  const missing = { lists: [], gap: { incomplete: true } };
  expect(await one.askForList('rows', {}, anonymous)).toEqual(missing);
  other.stop();
  wait(60_000);
  expect(one.list()).toHaveLength(1);
  expect(await one.askForList('rows', {}, anonymous)).toEqual(missing);
  // One that nobody has heard for long was taken away, and is missed no more.
  wait(60 * 60_000);
  expect(await one.askForList('rows', {}, anonymous)).toEqual({ lists: [], gap: {} });
});
