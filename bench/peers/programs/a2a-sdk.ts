// The official A2A SDK's server as its guide sets it up, on express with the tasks in memory, around the AI SDK's loop.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type AgentCard, TaskState } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { bareTurn } from '../../agent/bare-loop.ts';

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const place = { taskId, contextId, metadata: undefined };
    const working = status(TaskState.TASK_STATE_WORKING);
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: working,
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    const [question] = userMessage.parts;
    const value = await bareTurn(question?.content?.$case === 'text' ? question.content.value : '');
    const part = {
      content: { $case: 'text' as const, value },
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
    bus.publish(AgentEvent.artifactUpdate({ ...place, artifact, append: false, lastChunk: true }));
    bus.publish(AgentEvent.statusUpdate({ ...place, status: status(TaskState.TASK_STATE_COMPLETED) }));
  },
  async cancelTask() {
    throw new Error('The bench cancels nothing.');
  },
};

const card: AgentCard = {
  name: 'Bench',
  description: 'Multiplies.',
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

/** As much of express as is used here; it comes without types. */
interface ExpressApp {
  use(path: string, handler: unknown): void;
  listen(port: number, host: string): Server;
}

const app = (createRequire(import.meta.url)('express') as () => ExpressApp)();
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a`);
