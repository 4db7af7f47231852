import { join } from 'node:path';
import { createEmbeddedBus, type Message } from '@trunkline/bus';
import { readSse } from '@trunkline/http';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

describe('publish', () => {
  let board: TestSwitchboard;
  beforeAll(async () => {
    board = await startSwitchboard();
  });
  afterAll(() => board.stop());

  it('publishes and answers with id and correlation, which the caller may choose [S081] [S003]', async () => {
    const made = await board.call('/publish', { topic: 'message.inbound.test.a', payload: { content: 'x' } });
    expect(made).toEqual({
      status: 200,
      body: { success: true, id: expect.any(String), correlationId: made.body.id },
    });
    const body = {
      topic: 'message.inbound.test.b',
      payload: { n: 1 },
      correlationId: 'c-1',
      reply: { topic: 'note.b' },
    };
    expect((await board.call('/publish', body)).body.correlationId).toBe('c-1');
    const { body: past } = await board.call('/api/bus/history?correlationId=c-1');
    expect(past.data.messages[0].message).toMatchObject({
      ...body,
      source: { interface: 'api', userId: 'operator' },
    });
  });

  it.each([
    ['no JSON', '{'],
    ['no topic', { payload: {} }],
    ['a topic with an empty segment', { topic: 'a..b', payload: {} }],
    ['a topic with a wildcard', { topic: 'a.#', payload: {} }],
    ['a payload that is no object', { topic: 'a.b', payload: 'text' }],
    ['a payload over the limit of the bus', { topic: 'a.b', payload: { text: 'x'.repeat(1_044_480) } }],
    ['a body over every limit', { topic: 'a.b', payload: { text: 'x'.repeat(3_000_000) } }],
  ])('refuses %s with 400 and words', async (_, body) => {
    const answer = await board.call('/publish', body);
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: expect.any(String) } });
  });

  it('answers 404 in the same shape for what does not exist', async () => {
    expect(await board.call('/api/nothing')).toMatchObject({ status: 404, body: { success: false } });
  });

  it('streams messages of a pattern as they come [S103]', async () => {
    const controller = new AbortController();
    const response = await board.fetch('/api/bus/stream?topic=message.inbound.%23', {
      signal: controller.signal,
    });
    await board.call('/publish', { topic: 'note.other', payload: {} });
    await board.call('/publish', { topic: 'message.inbound.live', payload: { content: 'now' } });
    for await (const { event, data } of readSse(response.body!)) {
      expect(event).toBe('message');
      expect(JSON.parse(data)).toMatchObject({ topic: 'message.inbound.live', payload: { content: 'now' } });
      break;
    }
    controller.abort();
  });

  it('keeps less than half a megabyte for a reader of the stream who does not read', async () => {
    const controller = new AbortController();
    const response = await board.fetch('/api/bus/stream?topic=note.full', { signal: controller.signal });
    const events = readSse(response.body!);
    const text = 'x'.repeat(50_000);
    const publish = (mark: string) => board.call('/publish', { topic: 'note.full', payload: { mark, text } });
    const dropped = async () => {
      const metrics = await (await board.fetch('/metrics')).text();
      return Number(/_http_dropped_frames_total (\d+)/.exec(metrics)?.[1]);
    };
    // The buffers of the connection are full once each message pushes another out.
    for (let before = await dropped(), full = 0; full < 10; ) {
      await publish('filler');
      const after = await dropped();
      full = after > before ? full + 1 : 0;
      before = after;
    }
    for (let index = 0; index < 40; index += 1) await publish(`mark ${index}`);
    const kept: string[] = [];
    for await (const { data } of events) {
      const { mark } = JSON.parse(data).payload;
      if (mark !== 'filler') kept.push(mark);
      if (mark === 'mark 39') break;
    }
    expect(kept.length * text.length).toBeLessThan(500_000);
    controller.abort();
  });

  it('refuses a pattern that is none', async () => {
    expect((await board.call('/api/bus/stream?topic=%23.x')).status).toBe(400);
    expect((await board.call('/api/bus/history?limit=0')).status).toBe(400);
  });

  it('says that it is ready', async () => {
    expect(await board.call('/ready')).toEqual({
      status: 200,
      body: { success: true, data: { ready: true } },
    });
  });
});

it('a dead letter is listed, and goes once more to the handler that failed', async () => {
  const home = temporaryDirectory();
  const open = () =>
    createEmbeddedBus({
      directory: join(home.path, 'switchboard', 'bus'),
      durableTopics: ['message.#'],
      maxAttempts: 1,
    });
  // A part of the service that fails on a message every time.
  const before = await open();
  const fail = () => Promise.reject(new Error('the shelf is full'));
  await before.subscribe('message.outbound.shelf', fail, { durable: 'shelf' });
  await before.publish({ topic: 'message.outbound.shelf', payload: { content: 'A book' } });
  await waitFor(async () => (await before.deadLetters()).length === 1);
  await before.stop();

  const board = await startSwitchboard({ home: home.path });
  const letters = async () => (await board.call('/api/dead-letters')).body.data.letters;
  const [letter] = await letters();
  expect(letter).toMatchObject({ durable: 'shelf', message: { payload: { content: 'A book' } } });
  expect(letter.error).toContain('the shelf is full');
  expect((await board.call('/api/dead-letters/unknown/replay', {})).status).toBe(404);
  expect(await board.call(`/api/dead-letters/${letter.id}/replay`, {})).toMatchObject({
    status: 202,
    body: { success: true, data: { id: letter.id } },
  });
  expect(await letters()).toEqual([]);
  expect((await board.call(`/api/dead-letters/${letter.id}/replay`, {})).status).toBe(404);
  await board.stop();

  const after = await open();
  const taken: Message[] = [];
  await after.subscribe('message.outbound.shelf', (message) => void taken.push(message), {
    durable: 'shelf',
  });
  await waitFor(() => taken.length === 1);
  expect(taken[0]?.id).toBe(letter.message.id);
  await after.stop();
  home.remove();
});
