import { expect, it } from 'vitest';
import { limitBody } from './limit-body.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

function answer(chunks: string[], type: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(bytes(chunk));
      controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': type } });
}

it('gives an answer as it came, up to the limit', async () => {
  const limited = limitBody(answer(['12345', '67890'], 'text/plain'), { maxBytes: 10 });
  expect([limited.status, limited.headers.get('content-type'), await limited.text()]).toEqual([
    ...[200, 'text/plain', '1234567890'],
  ]);
  const longer = answer(['12345', '678901'], 'text/plain');
  await expect(limitBody(longer, { maxBytes: 10 }).text()).rejects.toThrow('larger than 10 bytes');
});

it('stops reading a server that sends without an end, and says it in the words of the caller', async () => {
  let sent = 0;
  let isStopped = false;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1000;
      controller.enqueue(new Uint8Array(1000));
    },
    cancel: () => {
      isStopped = true;
    },
  });
  const tooLarge = (most: number) => new Error(`no more than ${most}`);
  const limited = limitBody(new Response(endless), { maxBytes: 10_000, tooLarge });
  await expect(limited.text()).rejects.toThrow('no more than 10000');
  expect([isStopped, sent < 20_000]).toEqual([true, true]);
});

it.each(['\n\n', '\r\n\r\n', '\r\r'])('counts each event of a stream for itself: %j', async (end) => {
  const event = `data: 1234${end}`;
  const stream = event.repeat(50);
  const limit = { maxBytes: 30, perEvent: true };
  for (const size of [1, 2, 3, 7, 20]) {
    const chunks = stream.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    expect(await limitBody(answer(chunks, 'text/event-stream; charset=utf-8'), limit).text()).toBe(stream);
  }
  const endless = answer([event, ...Array.from({ length: 50 }, () => 'data: 1\n')], 'text/event-stream');
  await expect(limitBody(endless, limit).text()).rejects.toThrow('larger than 30 bytes');
  const whole = answer([stream], 'application/json');
  await expect(limitBody(whole, limit).text()).rejects.toThrow('larger than 30 bytes');
});
