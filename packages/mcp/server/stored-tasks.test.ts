// Tasks of the protocol over a restart, with the client of the official SDK.
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { McpEndpoint } from './endpoint.ts';
import { defineServedTool } from './mount-endpoint.ts';
import { MAX_TASK_MS, StoredTasks } from './stored-tasks.ts';

/** The service that does the work: it outlives the endpoint. */
const jobs = new Map<string, PromiseWithResolvers<string>>();
const cancelled: string[] = [];
const input = z.object({ job: z.string() });
const untilDone = async (job: string, signal: AbortSignal) => {
  const { promise, reject } = jobs.get(job) ?? Promise.withResolvers<string>();
  signal.addEventListener('abort', () => {
    cancelled.push(job);
    reject(signal.reason);
  });
  return { text: await promise };
};
const build = defineServedTool({
  name: 'build',
  effects: ['reads'],
  description: 'Goes on by itself.',
  input,
  isLong: true,
  timeoutMs: 600_000,
  async execute({ job }, { signal, progress, setResumeHandle }) {
    jobs.set(job, Promise.withResolvers());
    setResumeHandle?.(job);
    await progress(1, 'building');
    return await untilDone(job, signal);
  },
  resume: async (job, { signal, progress }) => {
    await progress(1, 'found again');
    return await untilDone(job, signal);
  },
});
const copy = defineServedTool({
  name: 'copy',
  effects: ['reads'],
  description: 'Ends with the service.',
  input,
  timeoutMs: 600_000,
  async execute({ job }, { signal }) {
    jobs.set(job, Promise.withResolvers());
    return await untilDone(job, signal);
  },
});

function startEndpoint(tasksFile: string) {
  const endpoint = new McpEndpoint({
    name: 'test',
    version: '1',
    tools: () => [build, copy],
    toolTimeoutMs: () => 600_000,
    tasksFile,
  });
  const clients: Client[] = [];
  const connect = async (id = 'ava') => {
    const client = new Client({ name: 'test', version: '1' });
    const fetch = async (url: string | URL, init?: RequestInit) =>
      await endpoint.handle(new Request(url, init), { kind: 'person', id, via: [] });
    const transport = new StreamableHTTPClientTransport(new URL('http://service/mcp'), { fetch });
    await client.connect(transport as Transport);
    clients.push(client);
    return client;
  };
  const stop = async () => {
    for (const client of clients.splice(0)) await client.close();
    await endpoint.close();
  };
  onTestFinished(stop);
  return { connect, stop };
}

async function begin(client: Client, name: string, job: string): Promise<string> {
  const params = { name, arguments: { job }, task: { ttl: 60_000 } };
  const { task } = await client.request({ method: 'tools/call', params }, CreateTaskResultSchema);
  await waitFor(() => jobs.has(job));
  return task.taskId;
}

it('survive a restart: results, work that goes on, and work that is lost', async () => {
  const home = temporaryDirectory();
  onTestFinished(() => home.remove());
  const file = join(home.path, 'tasks.db');
  const first = startEndpoint(file);
  const before = await first.connect();
  const [done, going, unwanted] = [
    await begin(before, 'build', 'done'),
    await begin(before, 'build', 'going'),
    await begin(before, 'build', 'unwanted'),
  ];
  const lost = await begin(before, 'copy', 'lost');
  jobs.get('done')?.resolve('the first house');
  const resultOf = async (client: Client, taskId: string) =>
    await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
  expect(await resultOf(before, done)).toMatchObject({ content: [{ text: 'the first house' }] });
  await first.stop();
  // Only what nobody could find again has ended.
  expect(cancelled).toEqual(['lost']);

  const second = startEndpoint(file);
  const [after, other] = [await second.connect(), await second.connect('bea')];
  const { tasks } = await after.experimental.tasks.listTasks();
  expect(tasks.map(({ taskId }) => taskId)).toEqual([done, going, unwanted, lost]);
  expect(await resultOf(after, done)).toMatchObject({ content: [{ text: 'the first house' }] });
  expect(await resultOf(after, lost)).toMatchObject({
    isError: true,
    content: [{ text: 'Error: the service was restarted while this ran. Call the tool again.' }],
  });
  expect(await after.experimental.tasks.getTask(going)).toMatchObject({
    status: 'working',
    statusMessage: 'found again',
  });
  const waiting = resultOf(after, going);
  jobs.get('going')?.resolve('the second house');
  expect(await waiting).toMatchObject({ isError: false, content: [{ text: 'the second house' }] });
  await after.experimental.tasks.cancelTask(unwanted);
  await waitFor(() => cancelled.includes('unwanted'));

  expect((await other.experimental.tasks.listTasks()).tasks).toEqual([]);
  await expect(other.experimental.tasks.getTask(done)).rejects.toThrow('not found');
  await expect(other.experimental.tasks.cancelTask(going)).rejects.toThrow('not found');
});

it('belong to their owner, in whichever session', async () => {
  const { connect } = startEndpoint(':memory:');
  const [one, two] = [await connect(), await connect()];
  const taskId = await begin(one, 'build', 'shared');
  await one.close();
  jobs.get('shared')?.resolve('a house');
  expect(await two.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject({
    content: [{ text: 'a house' }],
  });
});

it('are begun again neither past their time nor while the service stops', async () => {
  const home = temporaryDirectory();
  const tasks = new StoredTasks(join(home.path, 'tasks.db'));
  onTestFinished(() => {
    vi.useRealTimers();
    home.remove();
  });
  const request = { method: 'tools/call', params: { name: 'copy' } };
  await tasks.of('ava').createTask({ ttl: 60_000 }, 1, request);
  expect(tasks.interrupted('ava')).toHaveLength(1);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + MAX_TASK_MS + 1 });
  expect(tasks.interrupted('ava')).toEqual([]);
  tasks.close();
  expect(tasks.interrupted('ava')).toEqual([]);
});
