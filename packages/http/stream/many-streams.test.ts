import { once } from 'node:events';
import { expect, it } from 'vitest';
import { getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { sse } from '../sse/sse.ts';

it('cuts off the oldest stream of a person who opens too many, and none of others', async () => {
  const server = await startApp((app) =>
    app.get('/:who', (c) => {
      const via = c.req.param('who') === 'service' ? ['agent'] : [];
      c.set('principal', { kind: 'person', id: c.req.param('who'), via });
      return sse(c, { greeting: 'connected', subscribe: () => () => undefined });
    }),
  );
  const open = async (path: string) => {
    const client = await rawClient(server.port);
    const closed = once(client.socket, 'close');
    client.write(getRequest(path));
    await client.until(': connected');
    return { closed, isOpen: () => !client.socket.destroyed && !client.socket.readableEnded };
  };
  const others = [await open('/bob'), await open('/service')];
  const [first, second] = [await open('/ava'), await open('/ava')];
  await Promise.all(Array.from({ length: 199 }, () => open('/ava')));
  await first.closed;
  for (const stream of [second, ...others]) expect(stream.isOpen()).toBe(true);
  const warnings = server.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  expect(warnings).toEqual(['too many open streams of one caller; the oldest is cut off']);
  await Promise.all(Array.from({ length: 201 }, () => open('/service')));
  expect(others[1]?.isOpen()).toBe(true);
});
