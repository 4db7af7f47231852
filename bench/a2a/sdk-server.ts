import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type AgentCard, TaskState } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { reports } from './control.ts';

/** The official SDK's server as its own guide sets it up: on express, with the tasks in memory. */

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const place = { taskId, contextId };
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
    const part = {
      content: { $case: 'text' as const, value: 'Hello from the bench' },
      metadata: undefined,
      filename: '',
      mediaType: 'text/plain',
    };
    const artifact = {
      artifactId: randomUUID(),
      name: '',
      description: '',
      parts: [part],
      metadata: undefined,
      extensions: [],
    };
    bus.publish(
      AgentEvent.artifactUpdate({ ...place, artifact, append: false, lastChunk: true, metadata: undefined }),
    );
    bus.publish(
      AgentEvent.statusUpdate({
        ...place,
        status: status(TaskState.TASK_STATE_COMPLETED),
        metadata: undefined,
      }),
    );
  },
  async cancelTask() {
    throw new Error('The bench cancels nothing.');
  },
};

const card: AgentCard = {
  name: 'Bench',
  description: 'Answers at once.',
  version: '1.0.0',
  provider: undefined,
  supportedInterfaces: [
    { url: 'http://127.0.0.1', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);

/** As much of express as is used here; it comes without types. */
interface ExpressApp {
  get(path: string, handle: (request: IncomingMessage, response: ServerResponse) => void): void;
  use(path: string, handler: unknown): void;
  listen(port: number, host: string): Server;
}

const express = createRequire(import.meta.url)('express') as () => ExpressApp;
const app = express();
for (const [path, report] of Object.entries(reports)) {
  app.get(path, (_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(report()));
  });
}
app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`listening on ${(server.address() as AddressInfo).port}`);
