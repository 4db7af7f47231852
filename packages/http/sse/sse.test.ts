import { EventEmitter, on } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { createMetrics } from '../metrics/metrics.ts';
import { getRequest, rawClient, startApp } from '../test-kit.ts';
import { formatSseFrame } from './frame.ts';
import { type ReceivedEvent, readSse } from './read-sse.ts';
import { sse } from './sse.ts';
import type { SseFrame, SsePushOptions, SseSubscriber } from './types.ts';

const KILOBYTE = 'x'.repeat(1000);

/** A push stream whose subscriber the test holds in its hand. */
async function startPush(options: Partial<SsePushOptions> = {}) {
  const metrics = createMetrics({ prefix: 'sample' });
  const state: { subscriber?: SseSubscriber; outgoing?: ServerResponse; stopped: number } = { stopped: 0 };
  const server = await startApp(
    (app) =>
      app.get('/events', (c) => {
        state.outgoing = c.env.outgoing;
        return sse(c, {
          subscribe: (subscriber) => {
            state.subscriber = subscriber;
            return () => {
              state.stopped += 1;
            };
          },
          ...options,
        });
      }),
    { metrics },
  );
  const subscriber = () => vi.waitFor(() => state.subscriber ?? Promise.reject(new Error('not subscribed')));
  return { server, state, metrics, subscriber };
}

/** Sends until the buffers of both ends are full: nothing has moved from one look to the next. */
async function fill(subscriber: SseSubscriber, outgoing: ServerResponse | undefined) {
  let held = -1;
  const look = () => {
    const waiting = outgoing?.writableNeedDrain === true ? outgoing.writableLength : -1;
    const stuck = waiting !== -1 && waiting === held;
    held = waiting;
    if (!stuck) for (let count = 0; count < 2000; count += 1) subscriber.send({ data: KILOBYTE });
    if (!stuck && !subscriber.signal.aborted) throw new Error('still takes more');
  };
  await vi.waitFor(look, { timeout: 10_000, interval: 30 });
}

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

  it('shows the headers that middleware and handler set before', async () => {
    const server = await startApp(
      (app) =>
        app.get('/events', (c) => {
          c.header('x-mine', 'yes');
          return sse(c, { events: nothing });
        }),
      { corsOrigins: ['https://a.example'] },
    );
    const { headers } = await fetch(`${server.url}/events`, { headers: { origin: 'https://a.example' } });
    expect(headers.get('x-mine')).toBe('yes');
    expect(headers.get('access-control-allow-origin')).toBe('https://a.example');
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
    await vi.waitFor(
      () => {
        const stalled = produced === before && outgoing?.writableNeedDrain === true;
        before = produced;
        if (!stalled) throw new Error('still producing');
      },
      { timeout: 10_000, interval: 100 },
    );
    expect(outgoing?.writableLength).toBeLessThan(outgoing!.writableHighWaterMark + 2 * KILOBYTE.length);
    client.socket.resume();
    await vi.waitFor(() => expect(produced).toBeGreaterThan(before));
    client.socket.destroy();
    await vi.waitFor(() => expect(returned).toBe(true));
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
    await vi.waitFor(() => expect(emitter.listenerCount('event')).toBe(1));
    emitter.emit('event', 'hello');
    await client.until('data: hello');
    client.socket.destroy();
    await vi.waitFor(() => expect(emitter.listenerCount('event')).toBe(0));
    expect(aborted).toBe(true);
    expect(server.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('breaks off, and logs once, when the source fails', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          async *events() {
            yield { data: 'first' };
            await vi.waitFor(() => undefined);
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

describe('sse from a source that does not wait', () => {
  it('sends in order and ends after what was sent', async () => {
    const { server, subscriber } = await startPush();
    const reading = fetch(`${server.url}/events`).then(readAll);
    const { send, end } = await subscriber();
    for (let index = 0; index < 500; index += 1) send({ data: `${index}` });
    end();
    send({ data: 'too late' });
    expect((await reading).map(({ data }) => Number(data))).toEqual(
      Array.from({ length: 500 }, (_, index) => index),
    );
  });

  it('flushes what waits before it ends, once the reader reads again', async () => {
    const { server, state, subscriber } = await startPush({ queue: { frames: 100, bytes: 1e6 } });
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    const sender = await subscriber();
    await fill(sender, state.outgoing);
    sender.send({ data: 'the last' });
    sender.end();
    expect(client.socket.closed).toBe(false);
    client.socket.resume();
    await client.until('data: the last');
    await client.until('0\r\n\r\n');
  });

  it('keeps a bounded number of frames for a reader who has stopped, loses the oldest, and says so', async () => {
    let dropped = 0;
    const limits = { frames: 64, bytes: 1e6 };
    const onDrop = (frames: number) => {
      dropped += frames;
    };
    const { server, state, metrics, subscriber } = await startPush({ queue: limits, onDrop });
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    const sender = await subscriber();
    const { send } = sender;
    await fill(sender, state.outgoing);
    const lostBefore = dropped;
    const held = state.outgoing?.writableLength ?? 0;
    for (let index = 0; index < 10_000; index += 1) send({ data: `mark ${index}` });
    expect(dropped - lostBefore).toBe(10_000);
    expect(state.outgoing?.writableLength).toBe(held);
    expect(held).toBeLessThan(state.outgoing!.writableHighWaterMark + 2 * KILOBYTE.length);
    client.socket.resume();
    await client.until('data: mark 9999\n');
    const marks = [...client.received.matchAll(/data: mark (\d+)\n/g)].map(([, index]) => Number(index));
    expect(marks).toEqual(
      Array.from({ length: limits.frames }, (_, index) => 10_000 - limits.frames + index),
    );
    expect(await metrics.render()).toContain(`sample_http_dropped_frames_total ${dropped}`);
  });

  it('cuts a reader off instead when told to', async () => {
    const { server, state, subscriber } = await startPush({
      queue: { frames: 8, bytes: 1e6 },
      overflow: 'close',
    });
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    const sender = await subscriber();
    await vi.waitFor(() => {
      sender.send({ data: KILOBYTE });
      for (let count = 0; count < 500; count += 1) sender.send({ data: KILOBYTE });
      if (!sender.signal.aborted) throw new Error('still open');
    }, 10_000);
    expect(state.stopped).toBe(1);
    client.socket.resume();
    await client.closed;
  });

  it('cuts a reader off who takes nothing for too long', async () => {
    const { server, state, subscriber } = await startPush({ stallMs: 50 });
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    const sender = await subscriber();
    await fill(sender, state.outgoing);
    await vi.waitFor(() => expect(state.stopped).toBe(1));
  });

  it('unsubscribes once when the client leaves, and sending afterwards is harmless', async () => {
    const { server, state, metrics, subscriber } = await startPush();
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    const { send, end } = await subscriber();
    expect(await metrics.render()).toContain('sample_http_open_streams 1');
    client.socket.destroy();
    await vi.waitFor(() => expect(state.stopped).toBe(1));
    send({ data: 'x' });
    end();
    expect(state.stopped).toBe(1);
    expect(await metrics.render()).toContain('sample_http_open_streams 0');
  });

  it('sends comments while nothing happens', async () => {
    const { server } = await startPush({ keepaliveMs: 5 });
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await client.until(': keepalive\n\n');
  });

  it('breaks off when subscribing fails', async () => {
    const { server } = await startPush({
      subscribe: () => {
        throw new Error('bus is down');
      },
    });
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
