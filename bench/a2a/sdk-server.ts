import { randomUUID } from 'node:crypto';
import { type AgentCard, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { createApp, serve, sse } from '@trunkline/http';
import { measureUse } from './control.ts';

/**
 * The official SDK's server on the same HTTP kit as ours, as the express its own adaptor needs is not installed.
 * It keeps its tasks in memory only.
 */

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

const handler = new JsonRpcTransportHandler(
  new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
);

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, message: string) => console.error(message, fields),
  child: () => quiet,
};

const app = createApp({
  service: 'bench',
  version: '1.0.0',
  logger: quiet,
  renderError: (error) => ({ body: { detail: error.message } }),
  health: () => ({ status: 200, body: {} }),
});
app.get('/use', (context) => context.json(measureUse()));
app.post('/a2a', async (context) => {
  const call = new ServerCallContext({ requestedVersion: '1.0' });
  const result = await handler.handle(await context.req.json(), call);
  if (!(Symbol.asyncIterator in result)) return context.json(result);
  return sse(context, { events: () => framesOf(result) });
});
const { port } = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger: quiet });
console.log(`listening on ${port}`);

async function* framesOf(events: AsyncIterable<unknown>) {
  for await (const event of events) yield { data: JSON.stringify(event) };
}
