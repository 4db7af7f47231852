import { EventEmitter, on } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { eventually, getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { formatSseFrame, type ReceivedEvent, readSse, type SseFrame, sse } from './sse.ts';

const KILOBYTE = 'x'.repeat(1000);

async function readAll(response: Response): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
  for await (const event of readSse(response)) events.push(event);
  return events;
}

/** A source with nothing to say. */
async function* nothing(): AsyncGenerator<SseFrame> {
  yield* [];
}

describe('sse from a source that waits', () => {
  it('sends the events with the right headers, and ends with the source', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          greeting: 'connected',
          headers: { 'x-extra': '1' },
          async *events() {
            yield { id: '1', event: 'tick', data: 'a\nb' };
            yield Buffer.from(formatSseFrame({ id: '2', data: 'ready-made' }));
          },
        }),
      ),
    );
    const response = await fetch(`${server.url}/events`);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-extra': '1',
    });
    expect(response.headers.get('x-request-id')).not.toBeNull();
    expect(response.headers.get('x-hono-already-sent')).toBeNull();
    expect(await response.text()).toBe(
      ': connected\n\nid: 1\nevent: tick\ndata: a\ndata: b\n\nid: 2\ndata: ready-made\n\n',
    );
  });

  it('hands over Last-Event-ID, so that a client resumes without a gap', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          async *events({ lastEventId }) {
            for (let id = Number(lastEventId ?? 0) + 1; id <= 5; id += 1)
              yield { id: `${id}`, data: `event ${id}` };
          },
        }),
      ),
    );
    const ids = async (headers: Record<string, string>) =>
      (await readAll(await fetch(`${server.url}/events`, { headers }))).map(({ id }) => id);
    expect(await ids({})).toEqual(['1', '2', '3', '4', '5']);
    expect(await ids({ 'last-event-id': '3' })).toEqual(['4', '5']);
    expect(await ids({ 'last-event-id': '' })).toEqual(['1', '2', '3', '4', '5']);
  });

  it('shows the headers that middleware sets and the handler asks for', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) => {
        c.get('standardHeaders')['x-set-before'] = 'yes';
        return sse(c, { events: nothing, headers: { 'x-mine': 'yes' } });
      }),
    );
    const { headers } = await fetch(`${server.url}/events`);
    expect(headers.get('x-mine')).toBe('yes');
    expect(headers.get('x-set-before')).toBe('yes');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('answers HEAD with headers and asks the source for nothing', async () => {
    const events = vi.fn(nothing);
    const server = await startApp((app) => app.get('/events', (c) => sse(c, { events })));
    const response = await fetch(`${server.url}/events`, { method: 'HEAD' });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(events).not.toHaveBeenCalled();
  });

  it('takes no more from the source than a reader who has stopped reading can hold', async () => {
    let produced = 0;
    let returned = false;
    let outgoing: ServerResponse | undefined;
    const server = await startApp((app) =>
      app.get('/events', (c) => {
        outgoing = c.env.outgoing;
        return sse(c, {
          async *events() {
            try {
              for (;;) {
                produced += 1;
                yield { data: KILOBYTE };
              }
            } finally {
              returned = true;
            }
          },
        });
      }),
    );
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    let before = -1;
    await eventually(() => {
      const stalled = produced === before && outgoing?.writableNeedDrain === true;
      before = produced;
      if (!stalled) throw new Error('still producing');
    });
    expect(outgoing?.writableLength).toBeLessThan(outgoing!.writableHighWaterMark + 2 * KILOBYTE.length);
    client.socket.resume();
    await eventually(() => expect(produced).toBeGreaterThan(before));
    client.socket.destroy();
    await eventually(() => expect(returned).toBe(true));
  });

  it('stops a source that waits for its next event when the client leaves', async () => {
    const emitter = new EventEmitter();
    let aborted = false;
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          events: ({ signal }) => {
            signal.addEventListener('abort', () => {
              aborted = true;
            });
            return (async function* (): AsyncGenerator<SseFrame> {
              for await (const [data] of on(emitter, 'event', { signal })) yield { data };
            })();
          },
        }),
      ),
    );
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await eventually(() => expect(emitter.listenerCount('event')).toBe(1));
    emitter.emit('event', 'hello');
    await client.until('data: hello');
    client.socket.destroy();
    await eventually(() => expect(emitter.listenerCount('event')).toBe(0));
    expect(aborted).toBe(true);
    expect(server.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('stops a source whose client left before the stream began', async () => {
    let arrived = false;
    let released = false;
    const server = await startApp((app) =>
      app.get('/events', async (c) => {
        arrived = true;
        await eventually(() => expect(c.env.outgoing.destroyed).toBe(true));
        return sse(c, {
          async *events() {
            try {
              for (;;) yield { data: 'x' };
            } finally {
              released = true;
            }
          },
        });
      }),
    );
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await eventually(() => expect(arrived).toBe(true));
    client.socket.destroy();
    await eventually(() => expect(released).toBe(true));
  });

  it('stops a source that only listens to being told to return', async () => {
    let told = false;
    const source: AsyncIterable<SseFrame> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: async () => {
          told = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const server = await startApp((app) =>
      app.get('/events', (c) => sse(c, { greeting: 'connected', events: () => source })),
    );
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await client.until(': connected');
    client.socket.destroy();
    await eventually(() => expect(told).toBe(true));
  });

  it('breaks off, and logs once, when the source fails', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          async *events() {
            yield { data: 'first' };
            await eventually(() => undefined);
            throw new Error('source broke');
          },
        }),
      ),
    );
    await expect(fetch(`${server.url}/events`).then((response) => response.text())).rejects.toThrow();
    const errors = server.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ message: 'stream source failed' });
  });

  it('breaks off when the source cannot even begin', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          events() {
            throw new Error('no such log');
          },
        }),
      ),
    );
    await expect(fetch(`${server.url}/events`).then((response) => response.text())).rejects.toThrow();
    expect(server.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('a stream without a server', () => {
  it('says what is missing', async () => {
    const server = await startApp((app) => app.get('/events', (c) => sse(c, { events: nothing })));
    const response = await server.app.request('/events');
    expect(response.status).toBe(500);
    expect(String(server.lines[0]?.fields.err)).toContain('serve()');
  });
});
