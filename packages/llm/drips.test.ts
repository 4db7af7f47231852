// Endpoints that never stop and never end: each sends a little all the time, on a real socket.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { expect, it, onTestFinished, vi } from 'vitest';
import { prompt, read } from './gateway.suite.ts';
import { createModelGateway } from './gateway.ts';

interface Drip {
  /** Sent at once. */
  head: string;
  /** Sent again and again. */
  drop: string;
}

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const stream = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
const whole = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n';
const call = { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":"' } };
const more = { tool_calls: [{ index: 0, function: { arguments: 'x' } }] };

async function start({ head, drop }: Drip) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
    let timer: NodeJS.Timeout | undefined;
    socket.once('data', () => {
      socket.write(head);
      timer = setInterval(() => socket.write(drop), 5);
    });
    socket.once('close', () => {
      clearInterval(timer);
      open.delete(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { open, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const limits = { model: 'm', embeddingModel: 'e', maxRetries: 0, firstTokenTimeoutMs: 60_000 };
const ended = { code: 'timeout', message: expect.stringContaining('LLM_ANSWER_TIMEOUT_S sets the limit') };

const streamed = async (model: LanguageModelV4): Promise<void> => {
  const { errors } = await read(model);
  throw errors[0];
};
const unstreamed = async (model: LanguageModelV4) => void (await model.doGenerate({ prompt }));

it.each<[string, Drip, typeof streamed]>([
  ['comments before the first token', { head: stream, drop: ': wait\n\n' }, streamed],
  ['empty deltas before the first token', { head: stream, drop: event({ content: '' }) }, streamed],
  ['a head without an end', { head: 'HTTP/1.1 200 OK\r\n', drop: 'a' }, streamed],
  ['words', { head: stream + event({ content: 'Hel' }), drop: event({ content: 'l' }) }, streamed],
  ['arguments', { head: stream + event({ tool_calls: [call] }), drop: event(more) }, streamed],
  [
    'one document',
    {
      head: `${stream}${event({ content: 'Hel' })}data: {"choices":[{"delta":{"content":"${'l'.repeat(2000)}`,
      drop: 'l',
    },
    streamed,
  ],
  ['blanks before a whole answer', { head: whole, drop: ' ' }, unstreamed],
  ['an error', { head: stream.replace('200 OK', '500 No'), drop: 'x' }, streamed],
])('an endless drip of %s ends with the time of an answer', async (_name, drip, ask) => {
  const { url, open } = await start(drip);
  const model = createModelGateway({ ...limits, url, answerTimeoutMs: 300 }).languageModel();
  await expect(ask(model)).rejects.toMatchObject(ended);
  await vi.waitFor(() => expect(open.size).toBe(0));
});

it('an endless drip before vectors ends with the time of an answer', async () => {
  const { url, open } = await start({ head: whole, drop: ' ' });
  const { embed } = createModelGateway({ ...limits, url, answerTimeoutMs: 300 });
  await expect(embed?.(['a'])).rejects.toMatchObject(ended);
  await vi.waitFor(() => expect(open.size).toBe(0));
});

it.each([
  ['comments', stream + event({ content: 'Hello' }) + event({}, 'stop'), ': wait\n\n'],
  ['nothing', stream + event({ content: 'Hello' }) + event({}, 'stop'), ''],
])('a complete answer with %s behind it is not waited on for ever', async (_name, head, drop) => {
  const later = setTimeout;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { url, open } = await start({ head, drop });
  let isOver = false;
  const reading = read(createModelGateway({ ...limits, url }).languageModel()).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise((resolve) => later(resolve, 5));
    // The limit of the next words, and that of what may come behind the end.
    if (vi.getTimerCount() === 2) await vi.advanceTimersByTimeAsync(1000);
  }
  expect(await reading).toMatchObject({ text: 'Hello', errors: [] });
  await vi.waitFor(() => expect(open.size).toBe(0));
});
