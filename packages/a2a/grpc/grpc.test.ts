import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { Client as Channel, ChannelCredentials, credentials, Metadata, status } from '@grpc/grpc-js';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName, echo, SteppedAgent } from '../fixtures/agents.ts';
import { decodedStatus } from '../fixtures/grpc-status.ts';
import type { AgentScript, TestAgent } from '../fixtures/start-agent.ts';
import type { A2aServerOptions } from '../server.ts';
import { ServiceRequest } from './service-request.ts';
import { startGrpc } from './start-grpc.ts';

const startAgent = agentsOfThisFile();
const closers: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

const off = { grpcCertFile: undefined, grpcKeyFile: undefined };

async function start(script: AgentScript, options: Partial<A2aServerOptions> = {}, settings = {}) {
  let grpcAddress: string | undefined;
  const agent = await startAgent(script, {
    card: () => ({
      name: 'Test agent',
      description: '',
      version: '1',
      publicUrl: 'http://127.0.0.1',
      grpcAddress,
      skills: [],
    }),
    ...options,
  });
  const given = { host: '127.0.0.1', grpcPort: 0, ...off, ...settings };
  const grpc = await startGrpc(given, 'A2A', agent, agent.logger);
  if (grpc === undefined) throw new Error('gRPC did not start.');
  closers.push(grpc.stop);
  grpcAddress = `127.0.0.1:${grpc.port}`;
  return { agent, grpc };
}

/** The official client, over the interface that the card gives. */
async function connect(agent: TestAgent, grpcChannelCredentials?: ChannelCredentials): Promise<Client> {
  const card = await new DefaultAgentCardResolver().resolve(agent.url);
  const factory = new ClientFactory({
    transports: [new GrpcTransportFactory({ ...(grpcChannelCredentials && { grpcChannelCredentials }) })],
  });
  const client = await factory.createFromAgentCard(card);
  expect([client.transport.protocolName, client.protocolVersion]).toEqual(['GRPC', '1.0']);
  return client;
}

function saying(text: string, task?: Pick<Task, 'id' | 'contextId'>, more = {}) {
  const labels = { metadata: undefined, filename: '', mediaType: '' };
  const content = { $case: 'text' as const, value: text };
  return {
    tenant: '',
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId: task?.contextId ?? '',
      taskId: task?.id ?? '',
      role: Role.ROLE_USER,
      parts: [{ ...labels, content }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
  };
}

async function send(client: Client, ...said: Parameters<typeof saying>): Promise<Task> {
  const result = await client.sendMessage(saying(...said));
  if ('status' in result) return result;
  throw new Error('A message came instead of a task.');
}

const textOf = (task: Task) =>
  task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value)).join('');
const kinds = (frames: readonly StreamResponse[]) => frames.map(({ payload }) => payload?.$case);
const named = (id: string) => ({ tenant: '', id, metadata: undefined, historyLength: undefined });

describe('the official client over gRPC', () => {
  it('sends, is asked, answers, reads and lists tasks', async () => {
    const { agent } = await start(asksForName);
    const client = await connect(agent);
    const asking = await send(client, 'hi');
    expect(asking.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await send(client, 'Ada', asking);
    expect([done.id, textOf(done)]).toEqual([asking.id, 'Hello Ada']);
    const again = await client.getTask(named(done.id));
    expect([textOf(again), again.history.length, again.history[0]?.role]).toEqual([
      'Hello Ada',
      3,
      Role.ROLE_USER,
    ]);
    const page = await client.listTasks({
      ...named(''),
      contextId: done.contextId,
      status: 0,
      pageSize: 5,
      pageToken: '',
      statusTimestampAfter: undefined,
      includeArtifacts: false,
    });
    expect([page.tasks.map(({ id }) => id), page.totalSize]).toEqual([[done.id], 1]);
  });

  it('streams, comes back to a task, and cancels it', async () => {
    const stepped = new SteppedAgent();
    const { agent } = await start(stepped.script);
    const client = await connect(agent);
    const frames = client.sendMessageStream(saying('work'));
    const first = (await frames.next()).value;
    const id = first?.payload?.$case === 'task' ? first.payload.value.id : '';
    const again = client.resubscribeTask(named(id));
    expect(kinds([(await again.next()).value as StreamResponse])).toEqual(['task']);
    stepped.step({ type: 'text-delta', text: 'so far' });
    expect(kinds([(await frames.next()).value as StreamResponse])).toEqual(['artifactUpdate']);
    expect(kinds([(await again.next()).value as StreamResponse])).toEqual(['artifactUpdate']);
    expect((await client.cancelTask(named(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const rest: StreamResponse[] = [];
    for await (const frame of frames) rest.push(frame);
    expect(kinds(rest)).toEqual(['statusUpdate']);
    await expect(client.cancelTask(named(id))).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
  });

  it('keeps webhooks, and reads errors by their names', async () => {
    const { agent } = await start(asksForName, { push: { allowedHosts: ['127.0.0.1'] } });
    const client = await connect(agent);
    const { id: taskId } = await send(client, 'hi');
    const hook = { tenant: '', taskId, id: 'one', url: 'http://127.0.0.1:9/', token: 't' };
    await client.createTaskPushNotificationConfig({ ...hook, authentication: undefined });
    const place = { tenant: '', taskId, id: 'one' };
    expect(await client.getTaskPushNotificationConfig(place)).toMatchObject({ id: 'one', url: hook.url });
    await client.deleteTaskPushNotificationConfig(place);
    const listed = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(listed)).configs).toEqual([]);
    await expect(client.getTask(named('nowhere'))).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('is told which field is wrong, as protocol buffers have it', async () => {
    const { agent } = await start(echo);
    const client = await connect(agent);
    const failure: unknown = await send(client, 'x', undefined, { messageId: '' }).catch((error) => error);
    expect(failure).toMatchObject({
      message: expect.stringContaining('message.messageId is missing'),
      status: status.INVALID_ARGUMENT,
      statusDetailsBin: expect.any(Buffer),
    });
    const description = 'message.messageId is missing';
    expect(decodedStatus((failure as { statusDetailsBin: Buffer }).statusDetailsBin)).toEqual({
      code: status.INVALID_ARGUMENT,
      message: description,
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'INVALID_PARAMS',
          domain: 'a2a-protocol.org',
        },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'message.message_id', description }],
        },
      ],
    });
  });

  it('takes no message that is larger, or of more fields, than one over HTTP may be', async () => {
    let requests = 0;
    const { agent } = await start(async function* () {
      requests += 1;
      yield { type: 'completed', text: '' };
    });
    const client = await connect(agent);
    await expect(send(client, 'x'.repeat(1024 * 1024))).rejects.toThrow(/larger than max/);
    // Two bytes each.
    const parts = Array.from({ length: 60_000 }, () => ({
      content: undefined,
      metadata: undefined,
      filename: '',
      mediaType: '',
    }));
    await expect(send(client, '', undefined, { parts })).rejects.toThrow(/deserializing/);
    expect(requests).toBe(0);
    expect((await send(client, 'x'.repeat(900_000))).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('needs the key where the service does, and may read the extended card with it', async () => {
    const { agent } = await start(echo, {
      credentials: { bearer: 'sesame' },
      extendedCard: () => ({ description: 'for you' }),
    });
    await expect(send(await connect(agent), 'x')).rejects.toThrow(
      /missing or wrong credentials|Unauthorized/,
    );
    const withKey = credentials.createFromMetadataGenerator((_, done) => {
      const metadata = new Metadata();
      metadata.set('authorization', 'Bearer sesame');
      done(null, metadata);
    });
    const key = readFileSync(tlsFiles().certFile);
    const { agent: secure } = await start(
      async function* ({ message, extensions = [] }) {
        yield { type: 'completed', text: `${message.referenceTaskIds} ${extensions}` };
      },
      { credentials: { bearer: 'sesame' }, extendedCard: () => ({ description: 'for you' }) },
      { grpcCertFile: tlsFiles().certFile, grpcKeyFile: tlsFiles().keyFile },
    );
    const client = await connect(secure, ChannelCredentials.createSsl(key).compose(withKey));
    const uri = 'urn:trunkline:a2a:tool-call-v1';
    const result = await client.sendMessage(saying('x', undefined, { referenceTaskIds: ['a'] }), {
      serviceParameters: ServiceParameters.create(withA2AExtensions(uri)),
    });
    expect(textOf(result as Task)).toBe(`a ${uri}`);
    expect((await client.getAgentCard()).description).toBe('for you');
  });
});

let files: { certFile: string; keyFile: string } | undefined;

function tlsFiles() {
  if (files !== undefined) return files;
  const directory = temporaryDirectory();
  closers.push(() => directory.remove());
  const [certFile, keyFile] = [join(directory.path, 'cert.pem'), join(directory.path, 'key.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', '-x509', ...made, ...subject, '-keyout', keyFile, '-out', certFile], {
    stdio: 'ignore',
  });
  files = { certFile, keyFile };
  return files;
}

it('tells the service from where a call comes', async () => {
  let headers: IncomingHttpHeaders = {};
  const service = createServer((request, response) => {
    headers = request.headers;
    request.resume().once('end', () => response.end('{"result":{}}'));
  });
  const given: Record<string, string> = { 'x-forwarded-for': '192.0.2.7', origin: 'https://console.example' };
  const admitted = Promise.withResolvers<void>();
  const request = new ServiceRequest(
    (connection) => service.emit('connection', connection),
    { version: '1.0', header: (name) => given[name], peer: '127.0.0.1' },
    { admitted: admitted.resolve, refused: admitted.reject },
  );
  await admitted.promise;
  await request.call('GetTask', {});
  expect(headers).toMatchObject({ ...given, 'a2a-version': '1.0' });
});

describe('a caller without the key', () => {
  const path = '/lf.a2a.v1.A2AService/SendMessage';
  const key = () => {
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer sesame');
    return metadata;
  };

  async function startLocked() {
    const { agent, grpc } = await start(echo, { credentials: { bearer: 'sesame' } });
    const channel = new Channel(`127.0.0.1:${grpc.port}`, credentials.createInsecure());
    closers.push(() => channel.close());
    const unary = (bytes: Buffer, metadata = new Metadata(), at = path) =>
      new Promise<{ code: number; challenge: unknown }>((resolve) =>
        channel.makeUnaryRequest(
          at,
          (message: Buffer) => message,
          (message) => message,
          bytes,
          metadata,
          (error) =>
            resolve({
              code: error?.code ?? status.OK,
              challenge: error?.metadata.get('www-authenticate')[0],
            }),
        ),
      );
    return { agent, channel, unary };
  }

  // No codec takes these bytes, and those above the limit are not even unpacked.
  it.each([
    ['1 MB that is no message', Buffer.alloc(1024 * 1024, 0xff), status.INTERNAL],
    ['more than a message may have', Buffer.alloc(2 * 1024 * 1024), status.RESOURCE_EXHAUSTED],
  ])('is refused before anybody reads its message: %s', async (_, bytes, otherwise) => {
    const { unary } = await startLocked();
    expect(await unary(bytes)).toEqual({ code: status.UNAUTHENTICATED, challenge: 'Bearer' });
    expect(await unary(bytes, new Metadata(), '/a2a.v1.A2AService/SendMessage')).toMatchObject({
      code: status.UNAUTHENTICATED,
    });
    expect((await unary(bytes, key())).code).toBe(otherwise);
  });

  it('is refused although it never sends one', async () => {
    const { channel } = await startLocked();
    const identity = (message: Buffer) => message;
    const codes: number[] = [];
    const call = channel.makeClientStreamRequest(path, identity, identity, new Metadata(), (error) =>
      codes.push(error?.code ?? status.OK),
    );
    await waitFor(() => codes.length > 0);
    expect(codes).toEqual([status.UNAUTHENTICATED]);
    call.cancel();
  });
});

it.each([
  ['/lf.a2a.v1.A2AService/GetTask', '0.3'],
  ['/lf.a2a.v1.A2AService/GetTask', '9.9'],
  ['/a2a.v1.A2AService/GetTask', '1.0'],
])('%s refuses version %s', async (path, version) => {
  const { grpc } = await start(echo);
  const channel = new Channel(`127.0.0.1:${grpc.port}`, credentials.createInsecure());
  closers.push(() => channel.close());
  const metadata = new Metadata();
  metadata.set('a2a-version', version);
  const identity = (message: Buffer) => message;
  const failure = await new Promise((resolve) =>
    channel.makeUnaryRequest(path, identity, identity, Buffer.alloc(0), metadata, resolve),
  );
  expect(failure).toMatchObject({
    code: status.FAILED_PRECONDITION,
    details: expect.stringContaining('Version not supported'),
  });
});

it('says in words what is wrong with its settings, and is off by default', async () => {
  const agent = await startAgent(echo);
  const starting = (settings: object) =>
    startGrpc({ host: '127.0.0.1', grpcPort: undefined, ...off, ...settings }, 'A2A', agent, agent.logger);
  expect(await starting({})).toBeUndefined();
  await expect(starting({ grpcPort: 0, grpcCertFile: '/nowhere' })).rejects.toThrow(
    'gRPC needs a certificate and its key: set both A2A_GRPC_CERT and A2A_GRPC_KEY.',
  );
  await expect(starting({ grpcPort: 0, grpcCertFile: '/nowhere', grpcKeyFile: '/nowhere' })).rejects.toThrow(
    /cannot read \/nowhere.*A2A_GRPC_CERT/,
  );
  const { grpc } = await start(echo);
  await expect(starting({ grpcPort: grpc.port })).rejects.toThrow(/Choose another port with A2A_GRPC_PORT/);
});
