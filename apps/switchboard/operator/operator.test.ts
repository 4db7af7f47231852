import { FakeClock, type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openContext, type TestContext } from '../fixtures/plugin-context.ts';
import type { Json } from '../fixtures/start-switchboard.ts';
import { OperatorPlugin } from './plugin.ts';

let place: TemporaryDirectory;
let clock: FakeClock;
let board: TestContext;
let plugin: OperatorPlugin;

beforeEach(async () => {
  place = temporaryDirectory();
  clock = new FakeClock('2026-03-02T09:00:00Z');
  board = await openContext(place.path, {}, { OPERATOR_TOPIC: 'message.outbound.chat.dm.user.42' });
  plugin = new OperatorPlugin(clock);
  await plugin.start(board.context);
});
afterEach(async () => {
  await plugin.stop();
  await board.stop();
  place.remove();
});

const principal = { kind: 'person' as const, id: 'user:ava', via: [], role: 'member' as const };
const ask = (payload: object, correlationId = 'c1') =>
  board.bus.publish({ topic: 'operator.message.request', payload, correlationId, principal });
const sent = async () => (await waitFor(() => board.on('message.outbound.chat.dm.user.42')[0])) as Json;
const failed = () => board.on('operator.message.failed.c1') as Json[];

it('brings a message to the operator, and is content when it arrived [S134]', async () => {
  await ask({ content: 'The disk is full.', urgency: 'high' });
  const message = await sent();
  expect(message).toMatchObject({
    correlationId: 'c1',
    payload: { content: 'The disk is full.', urgency: 'high' },
  });
  await board.bus.publish({ topic: 'delivery.sent.chat', payload: { id: message.id } });
  await waitFor(() => board.on('delivery.sent.chat').length === 1);
  await clock.advanceBy(600_000);
  expect(failed()).toEqual([]);
});

it('says why when the surface could not deliver it [S134][S149]', async () => {
  await ask({ content: 'Hello?' });
  const { id } = await sent();
  await board.bus.publish({ topic: 'delivery.failed.chat', payload: { id, error: 'unknown user' } });
  await waitFor(() => failed().length === 1);
  expect(failed()[0].payload).toMatchObject({ error: 'unknown user', correlationId: 'c1' });
  expect(failed()[0].principal).toEqual({ ...principal, via: ['switchboard'] });
});

it('says so when nothing delivers it at all [S149]', async () => {
  await ask({ content: 'Hello?' });
  await sent();
  await clock.advanceBy(300_000);
  await waitFor(() => failed().length === 1);
  expect(failed()[0].payload.error).toContain('OPERATOR_TOPIC');
});

it.each([{}, { content: '' }, { content: 7 }, { content: 'x', urgency: 'now' }])(
  'refuses %j [S149]',
  async (payload) => {
    await ask(payload);
    await waitFor(() => failed().length === 1);
    expect(board.on('message.outbound.chat.dm.user.42')).toEqual([]);
  },
);
