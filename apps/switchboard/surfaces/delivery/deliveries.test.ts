import { join } from 'node:path';
import { type Bus, createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SwitchboardEnv } from '../../routes/guards.ts';
import { createDeliveries } from './deliveries.ts';

const logger = createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } });
const topic = 'message.outbound.chat.1';
let directory: ReturnType<typeof temporaryDirectory>;
let bus: Bus;
/** Reads of the journal wait for it. */
let gate: PromiseWithResolvers<void>;
let waiting: number;
let boards: Board[];
let sent: string[];
let id: string;
let failedAt: number;
/** Claims that NATS has answered, and what their askers wait for then. */
let claims: number;
let claimed: (() => Promise<void>) | undefined;
/** Names of those that died after the test began. */
let gone: string[];
/** Those that are heard again. */
let risen: string[];
/** What lists lack. */
let gap: { incomplete?: true };
let whileAsked: () => void;
/** When each started last, where not at first. */
let startedAt: Record<string, number>;

interface Board {
  replay(): Promise<number>;
  state(): string | undefined;
  failed(): Promise<string[]>;
  stop(): Promise<void>;
}

beforeEach(async () => {
  directory = temporaryDirectory();
  bus = await createEmbeddedBus({ directory: join(directory.path, 'bus'), logger });
  gate = Promise.withResolvers();
  [waiting, boards, sent, gone, startedAt] = [0, [], [], [], {}];
  [claims, claimed, risen, gap, whileAsked] = [0, undefined, [], {}, () => undefined];
  failedAt = Date.now() - 1000;
  ({ id } = await bus.publish({ topic, payload: { content: 'Hello' }, correlationId: 'c' }));
});
afterEach(async () => {
  for (const board of boards) await board.stop();
  await bus.stop();
  directory.remove();
});

/** One that has a copy of the failed delivery of one that is gone. */
async function board(name: string): Promise<Board> {
  const shared = {
    ...{ publish: bus.publish.bind(bus), subscribe: bus.subscribe.bind(bus) },
    async memory(memory: string, options: Parameters<Bus['memory']>[1]) {
      const kept = await bus.memory(memory, options);
      const keep = async (key: string, value: string) => {
        const first = await kept.keep(key, value);
        claims += 1;
        await claimed?.();
        return first;
      };
      return { keep, recall: kept.recall.bind(kept) };
    },
    status: () => ({ ...bus.status(), engine: 'nats' }),
    async history(query: object) {
      waiting += 1;
      await gate.promise;
      return await bus.history(query);
    },
  };
  const peers = {
    offer: () => undefined,
    isGone: (node: string) => node === 'dead' || gone.includes(node),
    list: () =>
      [name, 'one', 'two', ...risen]
        .filter((node) => !gone.includes(node))
        .map((node) => ({ node, startedAt: startedAt[node] ?? 1 })),
    askWithGap: async () => ({ answers: [], gap: {} }),
    askForList: async () => {
      whileAsked();
      return { lists: [[]], gap };
    },
  };
  const deliveries = createDeliveries();
  const home = join(directory.path, name);
  const context = { bus: shared, peers, home, logger, options: { deliveryRetryMs: 1000 } } as never;
  const app = new Hono<SwitchboardEnv>();
  app.use(async (request, next) => {
    request.set('principal', { kind: 'operator', id: 'operator', via: [] });
    await next();
  });
  app.onError(
    (error) => new Response(error.message, { status: 'status' in error ? Number(error.status) : 500 }),
  );
  await deliveries.start?.(context);
  deliveries.mount?.(app, context);
  await deliveries.open({ surface: 'chat', patterns: [], send: async () => void sent.push(name) });
  const known = { id, surface: 'chat', topic, correlationId: 'c', attempts: 1, error: 'Refused.' };
  const times = { createdAt: failedAt - 1000, updatedAt: failedAt };
  deliveries.shared.take({ ...known, ...times, state: 'failed', references: [], owner: 'anonymous' }, 'dead');
  const made: Board = {
    replay: async () => (await app.request(`/api/deliveries/${id}/replay`, { method: 'POST' })).status,
    async failed() {
      const listed = await app.request('/api/deliveries?state=failed');
      const { data } = (await listed.json()) as { data: { deliveries: { id: string }[] } };
      return data.deliveries.map((delivery) => delivery.id);
    },
    state: () => deliveries.shared.read(id, 1_000_000)?.state,
    stop: async () => await deliveries.stop?.(),
  };
  boards.push(made);
  return made;
}

const replays = async (asked: readonly Board[]) => {
  const answers = asked.map((each) => each.replay());
  await waitFor(() => waiting === asked.length);
  gate.resolve();
  return (await Promise.all(answers)).toSorted((one, other) => one - other);
};

describe('a failed delivery of a switchboard that is gone', () => {
  it('is listed, unless that one answers again and does not list it as failed', async () => {
    const one = await board('one');
    expect(await one.failed()).toEqual([id]);
    // Too late to be asked.
    whileAsked = () => {
      risen = ['dead'];
    };
    expect(await one.failed()).toEqual([id]);
    expect(await one.failed()).toEqual([]);
    gap = { incomplete: true };
    expect(await one.failed()).toEqual([id]);
  });

  it('is sent once by one that is asked twice at once, and not again', async () => {
    const one = await board('one');
    expect(await replays([one, one])).toEqual([202, 404]);
    await waitFor(() => sent.length > 0);
    // Before and after the others have it.
    expect(await one.replay()).toBe(404);
    await waitFor(() => one.state() === 'sent');
    expect(await one.replay()).toBe(404);
    expect(sent).toEqual(['one']);
  });

  it('is sent by one of two that are asked at once', async () => {
    const [one, two] = [await board('one'), await board('two')];
    expect(await replays([one, two])).toEqual([202, 503]);
    await waitFor(() => sent.length > 0);
    await waitFor(() => [one, two].some((each) => each.state() === 'sent'));
    expect(sent).toHaveLength(1);
  });

  it('is left to one that claimed it and lives, whatever its name', async () => {
    risen = ['one of them'];
    const [one, two] = [await board('one of them'), await board('two')];
    claimed = () => new Promise(() => undefined);
    gate.resolve();
    void one.replay();
    await waitFor(() => claims === 1);
    claimed = undefined;
    expect(await two.replay()).toBe(503);
  });

  it.each([
    ['is gone', () => void gone.push('one')],
    [
      'runs again and knows nothing of it',
      () => {
        startedAt.one = 2;
      },
    ],
  ])('is sent by another when the one that claimed it %s', async (_, die) => {
    const [one, two] = [await board('one'), await board('two')];
    // It dies between its claim and its record.
    claimed = () => new Promise(() => undefined);
    gate.resolve();
    void one.replay();
    await waitFor(() => claims === 1);
    claimed = undefined;
    expect(await two.replay()).toBe(503);
    die();
    expect(await two.replay()).toBe(202);
    await waitFor(() => sent.length > 0);
    expect(sent).toEqual(['two']);
  });
});
