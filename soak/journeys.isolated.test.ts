import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readSse } from '@trunkline/http';
import {
  type ModelServer,
  startModelServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFleet, type Fleet } from './fleet.ts';

/** Through the whole process of `trunkline up`, with nothing of it replaced but the model. */
let home: TemporaryDirectory;
let model: ModelServer;
let fleet: Fleet;

beforeEach(async () => {
  home = temporaryDirectory();
  model = await startModelServer({ script: ({ messages }) => `heard: ${messages.at(-1)?.content}` });
  fleet = await createFleet({ home: home.path, modelUrl: model.url, environment: { TZ: 'UTC' } });
});
afterEach(async () => {
  await fleet.kill();
  await model.stop();
  home.remove();
});

interface Journalled {
  message: { id: string; topic: string; correlationId: string; payload: { content: string } };
}

/** As the operator: what a schedule sends belongs to the installation. */
const board = async (path: string) => {
  const key = readFileSync(join(home.path, 'operator-key'), 'utf8').trim();
  return (await fetch(`${fleet.urls.switchboard}${path}`, { headers: { 'x-operator-key': key } })).json();
};
const journal = async (topic: string): Promise<Journalled['message'][]> => {
  const { data } = await board(`/api/bus/history?topic=${encodeURIComponent(topic)}&limit=1000`);
  return data.messages.map(({ message }: Journalled) => message);
};
const isDone = async () =>
  (await board('/api/schedules/bell')).data.history.some(
    ({ status }: { status: string }) => status === 'done',
  );

it('journey 3: a cron that was due while the process was down for an hour is made up for, once', async () => {
  // The first start makes the workspace with its agents; then the process is down.
  await fleet.start();
  await fleet.kill();
  const minute = 60_000;
  const due = Math.floor((Date.now() - 5 * minute) / minute) * minute;
  const lastFired = new Date(due - 60 * minute).toISOString();
  const file = join(home.path, 'switchboard/workspace/crons/bell.yaml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    [
      'id: bell',
      `schedule: "${new Date(due).getUTCMinutes()} * * * *"`,
      'topic: cron.bell',
      'payload: { content: Ring the bell. }',
      `lastFired: ${lastFired}`,
      '',
    ].join('\n'),
  );
  await fleet.start();
  await waitFor(isDone, { timeoutMs: 60_000 });
  const fireId = `bell@${new Date(due).toISOString()}`;
  const { data } = await board('/api/schedules/bell');
  expect(data.history).toMatchObject([{ fireId, missed: true, manual: false, status: 'done' }]);
  await waitFor(() => readFileSync(file, 'utf8').includes(new Date(due).toISOString()));

  await fleet.kill();
  await fleet.start();
  await waitFor(async () => (await board('/api/schedules/bell')).data.schedule?.state === 'active');
  expect((await board('/api/schedules/bell')).data.history).toHaveLength(1);
  expect((await journal('cron.bell')).map(({ correlationId }) => correlationId)).toEqual([fireId]);
  const answers = await journal('message.outbound.cli');
  expect(answers.map(({ correlationId, payload }) => [correlationId, payload.content])).toEqual([
    [fireId, 'heard: Ring the bell.'],
  ]);
});

interface Frame {
  id: string | undefined;
  result: {
    kind: string;
    id?: string;
    final?: boolean;
    status?: { state: string };
    artifact?: { parts: { text: string }[] };
  };
}

/** Reads a stream of the agent until the given condition holds, then drops the connection. */
async function read(body: object, until: (frame: Frame, text: string) => boolean, lastEventId?: string) {
  const connection = new AbortController();
  const response = await fetch(`${fleet.urls.agent}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(lastEventId && { 'last-event-id': lastEventId }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    signal: connection.signal,
  });
  const frames: Frame[] = [];
  for await (const { id, data } of readSse(response.body as ReadableStream<Uint8Array>)) {
    const frame: Frame = { id, result: JSON.parse(data).result };
    frames.push(frame);
    if (until(frame, textOf(frames))) break;
  }
  connection.abort();
  return frames;
}

const textOf = (frames: Frame[]) =>
  frames.map(({ result }) => result.artifact?.parts.map(({ text }) => text).join('') ?? '').join('');

it('journey 4: a client that loses its stream twice misses nothing and sees nothing twice', async () => {
  await fleet.start();
  const story = Array.from({ length: 60 }, (_, number) => `part ${number} `).join('');
  model.enqueue({ text: story, dripMs: 30 });
  const message = { role: 'user', messageId: 'story-1', parts: [{ kind: 'text', text: 'Tell it slowly.' }] };
  const begin = { method: 'message/stream', params: { message } };
  const first = await read(begin, (_, text) => text.includes('part 5'));
  const id = first[0]?.result.id ?? '';
  const again = { method: 'tasks/resubscribe', params: { id } };
  const second = await read(again, (_, text) => text.includes('part 25'), first.at(-1)?.id);
  // The agent goes on while nobody listens.
  const task = async () =>
    (await (await fetch(`${fleet.urls.agent}/api/tasks/${id}`)).json()).task as { state: string };
  expect((await task()).state).toBe('working');
  const third = await read(again, ({ result }) => result.final === true, second.at(-1)?.id);

  const frames = [...first, ...second, ...third];
  expect([first, second, third].every((part) => textOf(part) !== '')).toBe(true);
  expect(textOf(frames)).toBe(story);
  const ids = frames.map((frame) => Number(frame.id));
  expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
  expect(frames.at(-1)?.result.status?.state).toBe('completed');
  expect((await task()).state).toBe('completed');
});
