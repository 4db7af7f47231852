import { once } from 'node:events';
import { AgentCard, Role, TaskState } from '@a2a-js/sdk-1';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk-1/client';
import { GrpcTransportFactory } from '@a2a-js/sdk-1/client/grpc';
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk-1/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk-1/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk-1/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'Official SDK 1',
  package: '@a2a-js/sdk-1',
  clients: {
    '1.0 JSON-RPC': client('1.0', 'JSONRPC'),
    '1.0 REST': client('1.0', 'HTTP+JSON'),
    '1.0 gRPC': client('1.0', 'GRPC'),
    '0.3 JSON-RPC': client('0.3', 'JSONRPC'),
    '0.3 REST': client('0.3', 'HTTP+JSON'),
    '0.3 gRPC': client('0.3', 'GRPC'),
  },
  servers: {
    'JSON-RPC': server('JSONRPC'),
    REST: server('HTTP+JSON'),
    gRPC: server('GRPC'),
  },
};

function client(version, binding) {
  return {
    lacks:
      version === '0.3' && binding !== 'JSONRPC'
        ? { files: `${binding} of 0.3 has no field for the name of a file` }
        : {},
    async connect(url) {
      const legacyCompat = { enabled: true };
      const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
      const supportedInterfaces = card.supportedInterfaces.filter(
        (one) => one.protocolVersion === version && one.protocolBinding === binding,
      );
      const transports = [
        new JsonRpcTransportFactory({ legacyCompat }),
        new RestTransportFactory({ legacyCompat }),
        new GrpcTransportFactory({ legacyCompat }),
      ];
      const sdk = await new ClientFactory({ transports }).createFromAgentCard({
        ...card,
        supportedInterfaces,
      });
      return {
        card: async () => card.name,
        send: async (message) => reply(await sdk.sendMessage(outgoing(message))),
        async *stream(message) {
          for await (const { payload } of sdk.sendMessageStream(outgoing(message)))
            yield reply(payload.value);
        },
        async *subscribe(id) {
          for await (const { payload } of sdk.resubscribeTask({ id, tenant: '' })) yield reply(payload.value);
        },
        cancel: async (id) => reply(await sdk.cancelTask({ id, tenant: '', metadata: undefined })),
        get: async (id) => reply(await sdk.getTask({ id, tenant: '', historyLength: undefined })),
        async setPush(taskId, hook) {
          await sdk.createTaskPushNotificationConfig({
            tenant: '',
            id: 'hook',
            taskId,
            authentication: undefined,
            ...hook,
          });
        },
      };
    },
  };
}

const text = (value) => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});

function outgoing({ text: said, after, file }) {
  const parts = [text(said)];
  if (file)
    parts.push({
      content: { $case: 'raw', value: Buffer.from(file.bytes, 'base64') },
      metadata: undefined,
      filename: file.name,
      mediaType: file.mediaType,
    });
  const message = {
    messageId: crypto.randomUUID(),
    contextId: after?.contextId ?? '',
    taskId: after?.taskId ?? '',
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

const words = (parts = []) =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');

/** Of a task, a status, an artifact or a message. */
function reply(event) {
  const state =
    event.status && TaskState[event.status.state].replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
  const artifacts = event.artifacts ?? (event.artifact ? [event.artifact] : []);
  return {
    text:
      artifacts.map(({ parts }) => words(parts)).join('') ||
      words(event.status?.message?.parts ?? event.parts),
    state,
    taskId: event.taskId ?? event.id,
    contextId: event.contextId,
  };
}

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const place = { taskId, contextId, metadata: undefined };
    const status = (state, said) => ({
      state,
      timestamp: new Date().toISOString(),
      message: said && { ...outgoing({ text: said }).message, role: Role.ROLE_AGENT, taskId, contextId },
    });
    const end = (state, said) =>
      bus.publish(AgentEvent.statusUpdate({ ...place, status: status(state, said) }));
    const chunk = (said, append) => {
      const artifact = {
        artifactId: 'a',
        name: '',
        description: '',
        parts: [text(said)],
        metadata: undefined,
        extensions: [],
      };
      bus.publish(AgentEvent.artifactUpdate({ ...place, artifact, append, lastChunk: append }));
    };
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_WORKING),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    const said = words(userMessage.parts);
    const file = userMessage.parts.find(({ content }) => content?.$case === 'raw');
    if (said === 'ask') return end(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?');
    if (said === 'wait') return new Promise((resolve) => waiting.set(taskId, { place, resolve }));
    chunk(file ? 'Peer got ' : 'Peer says: ', false);
    chunk(
      file
        ? `${file.filename} ${file.mediaType} ${Buffer.from(file.content.value).toString('base64')}`
        : said,
      true,
    );
    end(TaskState.TASK_STATE_COMPLETED);
  },
  async cancelTask(taskId, bus) {
    const { place, resolve } = waiting.get(taskId);
    const status = {
      state: TaskState.TASK_STATE_CANCELED,
      message: undefined,
      timestamp: new Date().toISOString(),
    };
    bus.publish(AgentEvent.statusUpdate({ ...place, status }));
    resolve();
  },
};
const waiting = new Map();

function server(protocolBinding) {
  return {
    async start() {
      const app = express();
      const http = app.listen(0, '127.0.0.1');
      await once(http, 'listening');
      const url = `http://127.0.0.1:${http.address().port}`;
      const grpc = new Server();
      const port = await new Promise((resolve, reject) =>
        grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
          error ? reject(error) : resolve(bound),
        ),
      );
      const address = { JSONRPC: `${url}/rpc`, 'HTTP+JSON': `${url}/rest`, GRPC: `127.0.0.1:${port}` }[
        protocolBinding
      ];
      const card = AgentCard.fromJSON({
        name: 'Peer',
        description: 'Echoes.',
        version: '1',
        supportedInterfaces: [{ url: address, protocolBinding, protocolVersion: '1.0' }],
        capabilities: { streaming: true, pushNotifications: true },
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
        skills: [{ id: 'echo', name: 'Echo', description: 'Echoes.', tags: ['echo'] }],
      });
      const hooks = new InMemoryPushNotificationStore();
      const requestHandler = new DefaultRequestHandler(
        card,
        new InMemoryTaskStore(),
        executor,
        undefined,
        hooks,
        new DefaultPushNotificationSender(hooks),
      );
      const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
      app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
      app.use('/rpc', jsonRpcHandler(options));
      app.use('/rest', restHandler(options));
      grpc.addService(A2AService, grpcService(options));
      return {
        url,
        stop() {
          grpc.forceShutdown();
          http.closeAllConnections();
          http.close();
        },
      };
    },
  };
}
