import { Role, type SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { LegacyGrpcTransport } from '@a2a-js/sdk/compat/v0_3/client/grpc';
import { afterAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName, SteppedAgent } from '../fixtures/agents.ts';
import { rpc } from '../fixtures/calls.ts';
import type { AgentScript } from '../fixtures/start-agent.ts';
import type { A2aServerOptions } from '../server.ts';
import { startGrpc } from './start-grpc.ts';

const startAgent = agentsOfThisFile();
const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** The official client of 0.3 over gRPC, which takes and gives the types of 1.0. */
async function start(script: AgentScript, options: Partial<A2aServerOptions> = {}) {
  const agent = await startAgent(script, options);
  const off = { grpcCertFile: undefined, grpcKeyFile: undefined };
  const grpc = await startGrpc({ host: '127.0.0.1', grpcPort: 0, ...off }, 'A2A', agent, agent.logger);
  if (grpc === undefined) throw new Error('gRPC did not start.');
  closers.push(grpc.stop);
  return { agent, client: new LegacyGrpcTransport({ endpoint: `127.0.0.1:${grpc.port}` }) };
}

type Part = NonNullable<SendMessageRequest['message']>['parts'][number];

const labels = { metadata: undefined, filename: '', mediaType: '' };
const textPart = (value: string): Part => ({ ...labels, content: { $case: 'text', value } });

function saying(parts: Part[], task?: Task): SendMessageRequest {
  return {
    tenant: '',
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId: task?.contextId ?? '',
      taskId: task?.id ?? '',
      role: Role.ROLE_USER,
      parts,
      metadata: { colour: 'red' },
      extensions: ['urn:example:one'],
      referenceTaskIds: [],
    },
  };
}

async function send(client: LegacyGrpcTransport, parts: Part[], task?: Task): Promise<Task> {
  const result = await client.sendMessage(saying(parts, task));
  if ('status' in result) return result;
  throw new Error('A message came instead of a task.');
}

const named = (id: string) => ({ tenant: '', id, metadata: undefined, historyLength: undefined });
const kindOf = (frame: unknown) => (frame as StreamResponse).payload?.$case;

describe('0.3 over gRPC', () => {
  it('sends, is asked, answers and reads the task with its history', async () => {
    const { client } = await start(asksForName);
    const asking = await send(client, [textPart('hi')]);
    expect(asking.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asking.status?.message?.parts[0]?.content).toEqual({ $case: 'text', value: 'What is your name?' });
    const done = await send(client, [textPart('Ada')], asking);
    expect(done).toMatchObject({ id: asking.id, contextId: asking.contextId });
    const read = await client.getTask(named(done.id));
    expect(read.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value))).toEqual([
      'Hello Ada',
    ]);
    expect(read.history.map(({ role, metadata, extensions }) => [role, metadata, extensions])).toEqual([
      [Role.ROLE_USER, { colour: 'red' }, ['urn:example:one']],
      [Role.ROLE_AGENT, undefined, []],
      [Role.ROLE_USER, { colour: 'red' }, ['urn:example:one']],
    ]);
    expect((await client.getTask({ ...named(done.id), historyLength: 1 })).history).toHaveLength(1);
  });

  it('carries files and data both ways', async () => {
    const { client } = await start(
      async function* ({ message }) {
        yield { type: 'artifact', parts: [...message.parts] };
        yield { type: 'completed', text: 'done' };
      },
      {
        card: () => ({
          name: 'Any',
          description: '',
          version: '1',
          publicUrl: 'http://127.0.0.1',
          inputModes: ['*/*'],
          skills: [],
        }),
      },
    );
    const bytes = Buffer.from([0, 255, 10]);
    const parts: Part[] = [
      textPart('these'),
      { ...labels, mediaType: 'image/png', content: { $case: 'raw', value: bytes } },
      {
        ...labels,
        mediaType: 'text/html',
        content: { $case: 'url', value: 'https://files.example.com/a' },
      },
      { ...labels, content: { $case: 'data', value: { list: [1, null, { deep: true }] } } },
    ];
    const { artifacts } = await send(client, parts);
    const given = artifacts.find((artifact) => artifact.artifactId !== 'answer')?.parts ?? [];
    expect(given.map(({ content }) => content?.$case)).toEqual(['text', 'raw', 'url', 'data']);
    expect(Buffer.from(given[1]?.content?.value as Uint8Array)).toEqual(bytes);
    expect(given.map(({ mediaType }) => mediaType)).toEqual(['', 'image/png', 'text/html', '']);
    expect(given[3]?.content?.value).toEqual({ list: [1, null, { deep: true }] });
  });

  it('streams, comes back to a task, and cancels it', async () => {
    const stepped = new SteppedAgent();
    const { client } = await start(stepped.script);
    const frames = client.sendMessageStream(saying([textPart('work')]));
    const first = (await frames.next()).value as StreamResponse;
    const id = first.payload?.$case === 'task' ? first.payload.value.id : '';
    const again = client.resubscribeTask({ tenant: '', id });
    expect(kindOf((await again.next()).value)).toBe('task');
    stepped.step({ type: 'progress', text: 'Looking' }, { type: 'text-delta', text: 'so far' });
    expect(kindOf((await frames.next()).value)).toBe('statusUpdate');
    expect(kindOf((await frames.next()).value)).toBe('artifactUpdate');
    expect(kindOf((await again.next()).value)).toBe('statusUpdate');
    expect((await client.cancelTask(named(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const rest: unknown[] = [];
    for await (const frame of frames) rest.push(kindOf(frame));
    expect(rest).toEqual(['statusUpdate']);
    // Unlike 1.0, following what has ended gives its last state.
    expect(kindOf((await client.resubscribeTask({ tenant: '', id }).next()).value)).toBe('task');
  });

  it('answers at once where the caller does not wait, as protocol buffers have it by default', async () => {
    const stepped = new SteppedAgent();
    const { agent, client } = await start(stepped.script);
    const task = await client.sendMessage({
      ...saying([textPart('work')]),
      configuration: {
        acceptedOutputModes: [],
        taskPushNotificationConfig: undefined,
        historyLength: undefined,
        returnImmediately: true,
      },
    });
    expect((task as Task).status?.state).toBe(TaskState.TASK_STATE_WORKING);
    // The same task, by another door.
    const read = await rpc(agent, 'tasks/get', { id: (task as Task).id });
    expect(read.result.id).toBe((task as Task).id);
    stepped.end();
  });

  it('keeps webhooks, and tells errors by status and name', async () => {
    const { client } = await start(asksForName, { push: { allowedHosts: ['127.0.0.1'] } });
    const { id: taskId } = await send(client, [textPart('hi')]);
    const hook = { tenant: '', taskId, id: 'one', url: 'http://127.0.0.1:9/', token: 't' };
    const made = await client.createTaskPushNotificationConfig({ ...hook, authentication: undefined });
    expect(made).toMatchObject({ taskId, id: 'one', url: hook.url });
    const place = { tenant: '', taskId, id: 'one' };
    const slashed = { ...place, id: 'a/b' };
    await client.createTaskPushNotificationConfig({ ...hook, id: slashed.id, authentication: undefined });
    expect(await client.getTaskPushNotificationConfig(slashed)).toMatchObject({ id: 'a/b' });
    await client.deleteTaskPushNotificationConfig(slashed);
    await expect(client.deleteTaskPushNotificationConfig({ ...place, id: '' })).rejects.toThrow(
      /pushNotificationConfigId/,
    );
    expect(await client.getTaskPushNotificationConfig(place)).toMatchObject({ id: 'one', url: hook.url });
    const listed = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(listed)).configs).toHaveLength(1);
    await client.deleteTaskPushNotificationConfig(place);
    expect((await client.listTaskPushNotificationConfig(listed)).configs).toEqual([]);
    await expect(client.getTask(named('nowhere'))).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    await expect(send(client, [])).rejects.toThrow(/message.parts must hold at least one part/);
    const { client: without } = await start(asksForName, { push: false });
    await expect(without.listTaskPushNotificationConfig(listed)).rejects.toMatchObject({
      name: 'PushNotificationNotSupportedError',
    });
  });

  it('gives the card, with what callers must show', async () => {
    const { client } = await start(asksForName, { extendedCard: () => ({ description: 'for you' }) });
    const card = await client.getExtendedAgentCard({ tenant: '' });
    expect(card).toMatchObject({ name: 'Test agent', skills: [{ id: 'chat', tags: ['chat'] }] });
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
    expect(card.capabilities?.extensions.map(({ uri }) => uri)).toContain('urn:trunkline:a2a:tool-call-v1');
  });
});
