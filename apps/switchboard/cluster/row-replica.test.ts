import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SealKeyMissing } from '../control/seal.ts';
import { sharedFlows } from '../flows/flow-replica.ts';
import { FlowStore, type SharedFlow } from '../flows/flow-store.ts';
import { createRowReplica } from './row-replica.ts';

const ignore = () => undefined;
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const plain = { seal: { seal: (text: string) => text }, exchange: { open: async (text: string) => text } };

let home: TemporaryDirectory;
let board: Awaited<ReturnType<typeof start>>;
/** Of the journal, the newest last. */
let entries: { rows: SharedFlow[]; bytes: number }[];
let nodes: number;
let isAway: boolean;

beforeEach(async () => {
  vi.useFakeTimers();
  home = temporaryDirectory();
  entries = [];
  nodes = 1;
  isAway = false;
  board = await start();
});
afterEach(async () => {
  await board.stop();
  vi.useRealTimers();
  home.remove();
});

async function start() {
  const [flows, elsewhere] = ['flows', 'elsewhere'].map(
    (name) => new FlowStore(join(home.path, `${name}.db`)),
  );
  if (flows === undefined || elsewhere === undefined) throw new Error('There are no stores.');
  const bus = {
    status: () => ({ engine: 'nats', connected: true }),
    subscribe: async () => ({ unsubscribe: async () => undefined }),
    replay: async () => undefined,
    async publish({ payload }: { payload: { entry: { sealed: string } } }) {
      if (isAway) throw new Error('NATS is away.');
      const { sealed } = payload.entry;
      entries.push({ rows: JSON.parse(sealed) as SharedFlow[], bytes: sealed.length });
    },
  };
  const peers = { list: () => Array.from({ length: nodes }) };
  const questions = { own: { withdraw: ignore }, elsewhere: undefined };
  const plugin = createRowReplica(sharedFlows(flows, elsewhere, questions), plain as never);
  await plugin.start?.({ bus, home: home.path, logger, peers } as never);
  return {
    flows,
    async stop() {
      await plugin.stop?.();
      flows.close();
      elsewhere.close();
    },
  };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const open = (id: string) =>
  board.flows.open({ messageId: id, correlationId: id, skill: 'work', request: id, owner: 'anonymous' }).id;
const end = async (id: string) => {
  const ended = board.flows.end(id, undefined, {});
  await pass(0);
  await ended;
};
const shared = () => entries.flatMap(({ rows }) => rows.map(({ flow }) => `${flow.id} ${flow.status}`));

it('shares nothing until it meets another, and then what it has', async () => {
  const id = open('early');
  board.flows.trace(id, 'request', {});
  await end(id);
  await pass(60_000);
  expect(entries).toEqual([]);
  nodes = 2;
  await pass(5000);
  expect(shared()).toEqual(['skill-early complete']);
  // It may be off, and needs the rest when it is back.
  nodes = 1;
  open('later');
  await pass(5000);
  expect(shared()).toEqual(['skill-early complete', 'skill-later active']);
});

it('shares at a start only what it has not shared', async () => {
  nodes = 2;
  await pass(2000);
  for (const id of ['one', 'two']) await end(open(id));
  await pass(30_000);
  await board.stop();
  entries = [];
  await pass(10);
  board = await start();
  await pass(5000);
  expect(shared()).toEqual([]);
  isAway = true;
  await end(open('three'));
  await pass(30_000);
  await board.stop();
  isAway = false;
  board = await start();
  await pass(5000);
  expect(shared()).toEqual(['skill-three complete']);
});

it('shares a trace once, at the end, and an open flow every few seconds', async () => {
  nodes = 2;
  await pass(2000);
  const id = open('long');
  await pass(1000);
  expect(shared()).toEqual(['skill-long active']);
  const result = 'x'.repeat(800);
  for (let step = 0; step < 400; step += 1) {
    board.flows.trace(id, 'tool-end', { step, result });
    if (step % 10 === 0) board.flows.block(id, step % 20 === 0);
    await pass(100);
  }
  // 40 s of work.
  expect(shared().length).toBeLessThanOrEqual(10);
  expect(shared().length).toBeGreaterThan(4);
  expect(entries.flatMap(({ rows }) => rows).flatMap(({ trace }) => trace)).toEqual([]);
  await end(id);
  // At once, however lately it was shared.
  await pass(300);
  expect(shared().at(-1)).toBe('skill-long complete');
  expect(entries.at(-1)?.rows[0]?.trace).toHaveLength(401);
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  expect(bytes).toBeLessThan(1.1 * JSON.stringify(board.flows.traceOf(id)).length);
  const count = entries.length;
  await pass(60_000);
  expect(entries).toHaveLength(count);
});

it('shares the last of many changes', async () => {
  nodes = 2;
  await pass(2000);
  const id = open('asks');
  await pass(1000);
  board.flows.block(id, true);
  await pass(10_000);
  expect(shared()).toEqual(['skill-asks active', 'skill-asks blocked']);
});

it('reads again what it could not open, once the key is here', async () => {
  const keys = new Set<string>();
  const taken: string[] = [];
  const journal = ['x.one', 'y.two', 'x.three'];
  let handle: (message: unknown) => Promise<void> = async () => undefined;
  const read = async () => {
    for (const sealed of journal) await handle({ payload: { origin: 'o', entry: { node: 'n', sealed } } });
  };
  const replay = vi.fn(read);
  const bus = {
    status: () => ({ engine: 'nats', connected: true }),
    subscribe: async (_: string, given: typeof handle) => {
      handle = given;
      return { unsubscribe: async () => undefined };
    },
    replay,
  };
  const open = async (sealed: string) => {
    const [key = '', word] = sealed.split('.');
    if (!keys.has(key)) throw new SealKeyMissing(key);
    return JSON.stringify([word]);
  };
  const rows = {
    subject: 'flows',
    onChange: ignore,
    newest: () => [],
    take: (word: string) => taken.push(word),
  };
  const sealing = { seal: { has: (key: string) => keys.has(key) }, exchange: { open } };
  const plugin = createRowReplica(rows as never, sealing as never);
  const place = temporaryDirectory();
  keys.add('y');
  // A turn of the event loop for each row.
  vi.useRealTimers();
  await plugin.start?.({ bus, home: place.path, logger, peers: { list: () => [] } } as never);
  // At the first start.
  expect([taken, replay.mock.calls.length]).toEqual([['two'], 1]);
  keys.add('x');
  await vi.waitFor(() => expect(taken).toEqual(['two', 'one', 'two', 'three']), 10_000);
  expect(replay).toHaveBeenCalledTimes(2);
  await plugin.stop?.();
  place.remove();
});
