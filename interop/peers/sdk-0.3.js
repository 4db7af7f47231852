import { once } from 'node:events';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import {
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';

const lacks = {
  JSONRPC: {},
  'HTTP+JSON': { files: 'its REST of 0.3 has no field for the name of a file' },
  GRPC: { files: 'the protocol buffers of 0.3 have no field for the name of a file' },
};

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'Official SDK 0.3',
  package: '@a2a-js/sdk',
  clients: { '0.3 JSON-RPC': client('JSONRPC'), '0.3 REST': client('HTTP+JSON'), '0.3 gRPC': client('GRPC') },
  servers: { 'JSON-RPC': server('JSONRPC'), REST: server('HTTP+JSON'), gRPC: server('GRPC') },
};

function client(transport) {
  return {
    lacks: lacks[transport],
    async connect(url) {
      const transports = [
        new JsonRpcTransportFactory(),
        new RestTransportFactory(),
        new GrpcTransportFactory(),
      ];
      const preferredTransports = [transport];
      const sdk = await new ClientFactory({ transports, preferredTransports }).createFromUrl(url);
      return {
        card: async () => (await sdk.getAgentCard()).name,
        send: async (message) => reply(await sdk.sendMessage({ message: outgoing(message) })),
        async *stream(message) {
          for await (const event of sdk.sendMessageStream({ message: outgoing(message) })) yield reply(event);
        },
        async *subscribe(id) {
          for await (const event of sdk.resubscribeTask({ id })) yield reply(event);
        },
        cancel: async (id) => reply(await sdk.cancelTask({ id })),
        get: async (id) => reply(await sdk.getTask({ id })),
        setPush: (taskId, hook) =>
          sdk.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id: 'hook', ...hook } }),
      };
    },
  };
}

export function outgoing({ text, after, file }) {
  const parts = [{ kind: 'text', text }];
  if (file)
    parts.push({ kind: 'file', file: { bytes: file.bytes, name: file.name, mimeType: file.mediaType } });
  return {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts,
    ...(after?.taskId && { taskId: after.taskId }),
    ...(after?.contextId && { contextId: after.contextId }),
  };
}

const words = (parts = []) => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

/** Of a task, a status, an artifact or a message. */
export function reply(event) {
  const artifacts = event.artifacts ?? (event.artifact ? [event.artifact] : []);
  return {
    text:
      artifacts.map(({ parts }) => words(parts)).join('') ||
      words(event.status?.message?.parts ?? event.parts),
    state: event.status?.state,
    taskId: event.taskId ?? event.id,
    contextId: event.contextId,
  };
}

const waiting = new Map();
const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const place = { taskId, contextId };
    const end = (state, text) => {
      const message = text && {
        kind: 'message',
        messageId: crypto.randomUUID(),
        role: 'agent',
        ...place,
        parts: [{ kind: 'text', text }],
      };
      bus.publish({
        kind: 'status-update',
        ...place,
        status: { state, ...(message && { message }) },
        final: true,
      });
      bus.finished();
    };
    const chunk = (text, append) =>
      bus.publish({
        kind: 'artifact-update',
        ...place,
        append,
        lastChunk: append,
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text }] },
      });
    bus.publish({
      kind: 'task',
      id: taskId,
      contextId,
      status: { state: 'working' },
      history: [userMessage],
    });
    const said = words(userMessage.parts);
    const file = userMessage.parts.find(({ kind }) => kind === 'file')?.file;
    if (said === 'ask') return end('input-required', 'Which city?');
    if (said === 'wait') return new Promise((resolve) => waiting.set(taskId, { end, resolve }));
    chunk(file ? 'Peer got ' : 'Peer says: ', false);
    chunk(file ? `${file.name} ${file.mimeType} ${file.bytes}` : said, true);
    end('completed');
  },
  async cancelTask(taskId) {
    const { end, resolve } = waiting.get(taskId);
    end('canceled');
    resolve();
  },
};

function server(preferredTransport) {
  return {
    lacks: lacks[preferredTransport],
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
      const addresses = { JSONRPC: `${url}/rpc`, 'HTTP+JSON': `${url}/rest`, GRPC: `127.0.0.1:${port}` };
      const card = {
        name: 'Peer',
        description: 'Echoes.',
        version: '1',
        protocolVersion: '0.3.0',
        url: addresses[preferredTransport],
        preferredTransport,
        capabilities: { streaming: true, pushNotifications: true },
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
        skills: [{ id: 'echo', name: 'Echo', description: 'Echoes.', tags: ['echo'] }],
      };
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
      grpc.addService(
        A2AService,
        grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }),
      );
      return {
        url,
        stop: () => {
          grpc.forceShutdown();
          http.closeAllConnections();
          http.close();
        },
      };
    },
  };
}
