import { join } from 'node:path';
import { createEmbeddedBus, type Message } from '@trunkline/bus';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';

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
