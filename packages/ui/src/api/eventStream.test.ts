import type { ServerResponse } from 'node:http';
import { afterEach, expect, it, vi } from 'vitest';
import { sendJson, startService, type TestService } from '../../fixtures/testServer.ts';
import {
  type EventStream,
  type EventStreamOptions,
  openEventStream,
  type StreamEvent,
  type StreamState,
} from './eventStream.ts';

const SOON = { timeout: 60_000 };
let service: TestService | undefined;
let stream: EventStream | undefined;

afterEach(async () => {
  stream?.close();
  await service?.stop();
});

function follow(url: string, options: Partial<EventStreamOptions> = {}) {
  const events: StreamEvent[] = [];
  const states: StreamState[] = [];
  stream = openEventStream({
    url,
    headers: () => ({}),
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    firstPauseMs: 1,
    ...options,
  });
  return { events, states, names: () => states.map((state) => state.name) };
}

function startStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

it('follows events and tells its state', async () => {
  service = await startService((request, response) => {
    startStream(response).write(`id: 1\nevent: text-delta\ndata: ${request.headers['x-api-key']}\n\n`);
  });
  const { events, names } = follow(service.url, { headers: () => ({ 'x-api-key': 'secret' }) });
  await vi.waitFor(() => expect(events).toEqual([{ id: '1', event: 'text-delta', data: 'secret' }]), SOON);
  expect(names()).toEqual(['connecting', 'open']);
});

it('keeps the last id and the pause that the stream asks for, however it is cut', async () => {
  const text =
    'retry: 1\r\n\r\nid: 7\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\nevent: none\r\n\r\ndata: never ended';
  let connections = 0;
  service = await startService((_request, response) => {
    connections += 1;
    startStream(response);
    const writeFrom = (index: number): unknown =>
      index < text.length ? response.write(text.charAt(index), () => writeFrom(index + 1)) : response.end();
    if (connections === 1) writeFrom(0);
  });
  const { events, states } = follow(service.url, { firstPauseMs: 3_600_000 });
  await vi.waitFor(() => expect(connections).toBe(2), SOON);
  expect(events).toEqual([
    { id: '7', event: 'message', data: 'a\nb' },
    { id: '7', event: 'message', data: 'c' },
  ]);
  expect(states).toContainEqual(expect.objectContaining({ name: 'waiting', pauseMs: 1 }));
});

it('connects again after a loss and goes on after the last event', async () => {
  const resumed: (string | undefined)[] = [];
  service = await startService((request, response) => {
    resumed.push(request.headers['last-event-id'] as string | undefined);
    startStream(response).write(`id: ${resumed.length}\ndata: part ${resumed.length}\n\n`);
    if (resumed.length < 3) response.end();
  });
  const { events, names } = follow(service.url);
  await vi.waitFor(
    () => expect(events.map(({ data }) => data)).toEqual(['part 1', 'part 2', 'part 3']),
    SOON,
  );
  expect(resumed).toEqual([undefined, '1', '2']);
  expect(names()).toContain('waiting');
});

it('waits longer after each failure, and says why', async () => {
  let attempts = 0;
  service = await startService((_request, response) => {
    attempts += 1;
    sendJson(response, 503, { detail: 'starting' });
  });
  const { states } = follow(service.url);
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(6), SOON);
  const waits = states.filter((state) => state.name === 'waiting');
  expect(waits[0]).toMatchObject({ error: { status: 503, message: 'starting' } });
  // Half of each pause is random: the sixth is at least 16 times as long as the shortest first one.
  expect(waits[5]?.pauseMs).toBeGreaterThanOrEqual(16);
});

it('asks no more after a refusal', async () => {
  let attempts = 0;
  service = await startService((_request, response) => {
    attempts += 1;
    sendJson(response, 401, { detail: 'unknown or missing api key' });
  });
  const { states } = follow(service.url);
  await vi.waitFor(
    () => expect(states.at(-1)).toMatchObject({ name: 'refused', error: { status: 401 } }),
    SOON,
  );
  expect(attempts).toBe(1);
});

it('ends for good on 204', async () => {
  service = await startService((_request, response) => void response.writeHead(204).end());
  const { names } = follow(service.url);
  await vi.waitFor(() => expect(names()).toEqual(['connecting', 'closed']), SOON);
});

it('takes a silent line for dead', async () => {
  let attempts = 0;
  service = await startService((_request, response) => {
    attempts += 1;
    startStream(response).write(': hello\n\n');
  });
  const { states } = follow(service.url, { silenceLimitMs: 30 });
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(1), SOON);
  expect(states.find((state) => state.name === 'waiting')).toMatchObject({ error: { code: 'TIMEOUT' } });
});

it('connects at once when asked, and never after it is closed', async () => {
  let attempts = 0;
  service = await startService((_request, response) => {
    attempts += 1;
    startStream(response).end();
  });
  const { names } = follow(service.url, { firstPauseMs: 3_600_000 });
  await vi.waitFor(() => expect(names().at(-1)).toBe('waiting'), SOON);
  stream?.reconnect();
  await vi.waitFor(() => expect(attempts).toBe(2), SOON);
  await vi.waitFor(() => expect(names().at(-1)).toBe('waiting'), SOON);
  stream?.close();
  stream?.reconnect();
  expect(names().at(-1)).toBe('closed');
  expect(attempts).toBe(2);
});
