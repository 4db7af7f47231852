import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually, getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { formatSseFrame, readSse, type SsePushOptions, type SseSubscriber, sse } from './sse.ts';

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
  const subscriber = () => eventually(() => state.subscriber ?? Promise.reject(new Error('not subscribed')));
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
  await eventually(look);
}

describe('sse from a source that does not wait', () => {
  it('sends in order and ends after what was sent', async () => {
    const { server, subscriber } = await startPush();
    const reading = fetch(`${server.url}/events`);
    const { send, end } = await subscriber();
    for (let index = 0; index < 500; index += 1) send({ data: `${index}` });
    end();
    send({ data: 'too late' });
    const numbers: number[] = [];
    for await (const { data } of readSse(await reading)) numbers.push(Number(data));
    expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index));
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

  it('counts what waits in bytes, and keeps at most 384 KiB unless told otherwise', async () => {
    const { server, state, subscriber } = await startPush();
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    const sender = await subscriber();
    await fill(sender, state.outgoing);
    const frame = (index: number) => ({ data: `mark ${index} ${'ж'.repeat(1000)}` });
    for (let index = 0; index < 1000; index += 1) sender.send(frame(index));
    client.socket.resume();
    await client.until('data: mark 999 ');
    const kept = client.received.split('data: mark ').length - 1;
    const size = Buffer.byteLength(formatSseFrame(frame(999)));
    expect(kept).toBe(Math.floor((384 * 1024) / size));
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
    await eventually(() => {
      sender.send({ data: KILOBYTE });
      for (let count = 0; count < 500; count += 1) sender.send({ data: KILOBYTE });
      if (!sender.signal.aborted) throw new Error('still open');
    });
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
    await eventually(() => expect(state.stopped).toBe(1));
  });

  it('unsubscribes once when the client leaves, and sending afterwards is harmless', async () => {
    const { server, state, metrics, subscriber } = await startPush();
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    const { send, end } = await subscriber();
    expect(await metrics.render()).toContain('sample_http_open_streams 1');
    client.socket.destroy();
    await eventually(() => expect(state.stopped).toBe(1));
    send({ data: 'x' });
    end();
    expect(state.stopped).toBe(1);
    expect(await metrics.render()).toContain('sample_http_open_streams 0');
  });

  it('does not hold on to a client that left before the stream began', async () => {
    const metrics = createMetrics({ prefix: 'sample' });
    const timers = vi.spyOn(globalThis, 'setInterval');
    onTestFinished(() => timers.mockRestore());
    const keepaliveMs = 12_345;
    let arrived = false;
    let stopped = 0;
    const server = await startApp(
      (app) =>
        app.get('/events', async (c) => {
          arrived = true;
          await eventually(() => expect(c.env.outgoing.destroyed).toBe(true));
          return sse(c, {
            keepaliveMs,
            subscribe: () => () => {
              stopped += 1;
            },
          });
        }),
      { metrics },
    );
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await eventually(() => expect(arrived).toBe(true));
    client.socket.destroy();
    await eventually(() => expect(stopped).toBe(1));
    expect(await metrics.render()).toContain('sample_http_open_streams 0');
    expect(timers).not.toHaveBeenCalledWith(expect.anything(), keepaliveMs);
  });

  it('sends comments while nothing happens', async () => {
    const { server } = await startPush({ keepaliveMs: 5 });
    const client = await rawClient(server.port);
    client.write(getRequest('/events'));
    await client.until(': keepalive\n\n');
  });

  it('reaches a reader that waited, though the response it came with was garbage collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const { server, subscriber } = await startPush();
    let collected = false;
    const registry = new FinalizationRegistry(() => {
      collected = true;
    });
    const events = await (async () => {
      const response = await fetch(`${server.url}/events`);
      registry.register(response, undefined);
      return readSse(response.body!);
    })();
    const { send, end } = await subscriber();
    await eventually(() => {
      collect();
      expect(collected).toBe(true);
    });
    send({ data: 'still here' });
    end();
    expect(await events.next()).toMatchObject({ value: { data: 'still here' } });
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
