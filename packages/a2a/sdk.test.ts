import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import { Role, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName, echo, SteppedAgent } from './fixtures/agents.ts';
import type { AgentScript, TestAgent } from './fixtures/start-agent.ts';
import { startWebhook } from './fixtures/webhook.ts';
import type { A2aServerOptions } from './server.ts';

const startAgent = agentsOfThisFile();
const legacyCompat = { enabled: true };

const ways = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
] as const;

/** The SDK's client for one version and one transport, made from the agent's own card. */
async function connect(
  agent: TestAgent,
  version: string,
  transport: string,
  token?: string,
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init = {}) => {
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(agent.url);
  const supportedInterfaces = card.supportedInterfaces.filter(
    ({ protocolVersion, protocolBinding }) => protocolVersion === version && protocolBinding === transport,
  );
  expect(supportedInterfaces).toHaveLength(1);
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new RestTransportFactory({ fetchImpl, legacyCompat }),
    ],
  });
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces });
  expect([client.transport.protocolName, client.protocolVersion]).toEqual([transport, version]);
  return client;
}

function saying(text: string, task?: Pick<Task, 'id' | 'contextId'>, returnImmediately = false) {
  const part = {
    content: { $case: 'text' as const, value: text },
    metadata: undefined,
    filename: '',
    mediaType: '',
  };
  const message: Message = {
    messageId: crypto.randomUUID(),
    contextId: task?.contextId ?? '',
    taskId: task?.id ?? '',
    role: Role.ROLE_USER,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    historyLength: undefined,
    returnImmediately,
  };
  return { tenant: '', message, configuration, metadata: undefined };
}

function asTask(result: Task | Message): Task {
  if ('status' in result) return result;
  throw new Error('A message came instead of a task.');
}

function textOf(task: Task): string {
  return task.artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('');
}

async function collect(frames: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const collected: StreamResponse[] = [];
  for await (const frame of frames) collected.push(frame);
  return collected;
}

const kinds = (frames: readonly StreamResponse[]) => frames.map(({ payload }) => payload?.$case);
const named = (id: string) => ({ tenant: '', id, metadata: undefined, historyLength: undefined });

describe.each(ways)('the official client, version %s over %s', (version, transport) => {
  const start = async (script: AgentScript, options: Partial<A2aServerOptions> = {}) => {
    const agent = await startAgent(script, options);
    return { agent, client: await connect(agent, version, transport) };
  };

  it('sends a message and reads the task again', async () => {
    const { client } = await start(echo);
    const task = asTask(await client.sendMessage(saying('hello')));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textOf(task)).toBe('You said hello');
    const again = await client.getTask({ ...named(task.id), historyLength: 1 });
    expect(textOf(again)).toBe('You said hello');
    expect(again.history).toHaveLength(1);
  });

  it('gets a plain message where the agent gives one', async () => {
    const { client } = await start(async function* () {
      yield { type: 'message', parts: [{ type: 'text', text: 'just so' }] };
    });
    const result = await client.sendMessage(saying('x'));
    expect('parts' in result && result.parts[0]?.content).toEqual({ $case: 'text', value: 'just so' });
  });

  it('answers a question of the agent', async () => {
    const { client } = await start(asksForName);
    const asking = asTask(await client.sendMessage(saying('hi')));
    expect(asking.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = asTask(await client.sendMessage(saying('Ada', asking)));
    expect([done.id, textOf(done)]).toEqual([asking.id, 'Hello Ada']);
  });

  it('streams a task from its beginning to its end', async () => {
    const { client } = await start(async function* () {
      yield { type: 'progress', text: 'thinking' };
      yield { type: 'text-delta', text: 'one ' };
      yield { type: 'completed', text: 'one two' };
    });
    const frames = await collect(client.sendMessageStream(saying('count')));
    expect(kinds(frames)).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    const last = frames.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('subscribes to a running task and cancels it', async () => {
    const stepped = new SteppedAgent();
    const { client } = await start(stepped.script);
    const task = asTask(await client.sendMessage(saying('work', undefined, true)));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    const frames = client.resubscribeTask({ tenant: '', id: task.id })[Symbol.asyncIterator]();
    expect((await frames.next()).value?.payload?.$case).toBe('task');
    const canceled = await client.cancelTask(named(task.id));
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(kinds(await collect({ [Symbol.asyncIterator]: () => frames }))).toEqual(['statusUpdate']);
  });

  it('registers, reads, lists and deletes a webhook that is told the end', async () => {
    const hook = await startWebhook();
    const stepped = new SteppedAgent();
    const { client } = await start(stepped.script, { push: { allowedHosts: ['127.0.0.1'] } });
    const { id: taskId } = asTask(await client.sendMessage(saying('work', undefined, true)));
    const config = { tenant: '', taskId, url: hook.url, token: 'sesame', authentication: undefined };
    for (const id of ['one', 'two']) await client.createTaskPushNotificationConfig({ ...config, id });
    const read = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'one' });
    expect(read).toMatchObject({ id: 'one', taskId, url: hook.url });
    const list = () =>
      client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    expect((await list()).configs.map(({ id }) => id)).toEqual(['one', 'two']);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'two' });
    expect((await list()).configs.map(({ id }) => id)).toEqual(['one']);
    stepped.step({ type: 'completed', text: 'x' });
    await expect
      .poll(() => hook.calls.at(-1)?.headers['x-a2a-notification-token'], { timeout: 60_000 })
      .toBe('sesame');
    await hook.close();
  });

  it('is told what is wrong by the right error', async () => {
    const { client } = await start(echo);
    await expect(client.getTask(named('nowhere'))).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(client.cancelTask(named('nowhere'))).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    const { message, ...rest } = saying('');
    await expect(client.sendMessage({ ...rest, message: { ...message, parts: [] } })).rejects.toThrow();
  });

  it('reads the extended card once it has shown its credential', async () => {
    const extendedCard = () => ({ description: 'for you' });
    const agent = await startAgent(echo, { credentials: { bearer: 'token' }, extendedCard });
    const client = await connect(agent, version, transport, 'token');
    expect(await client.getAgentCard()).toMatchObject({ name: 'Test agent', description: 'for you' });
    const stranger = await connect(agent, version, transport);
    await expect(stranger.getAgentCard()).rejects.toThrow();
    await expect(stranger.sendMessage(saying('x'))).rejects.toThrow();
  });
});

describe.each(['JSONRPC', 'HTTP+JSON'])('lists of tasks over %s', (transport) => {
  it('come page by page, newest first', async () => {
    const client = await connect(await startAgent(echo), '1.0', transport);
    for (const text of ['one', 'two', 'three']) await client.sendMessage(saying(text));
    const query = {
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_COMPLETED,
      pageSize: 2,
      pageToken: '',
      historyLength: undefined,
      statusTimestampAfter: undefined,
      includeArtifacts: true,
    };
    const first = await client.listTasks(query);
    expect(first).toMatchObject({ totalSize: 3, pageSize: 2 });
    const second = await client.listTasks({ ...query, pageToken: first.nextPageToken });
    expect([...first.tasks, ...second.tasks].map(textOf)).toEqual([
      'You said three',
      'You said two',
      'You said one',
    ]);
    expect(second.nextPageToken).toBe('');
  });
});
