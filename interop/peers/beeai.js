import { registerHooks } from 'node:module';
import { freePort } from '../../bench/peers/processes.ts';
import { answerOf, lacksTasks, replyOf } from '../echo.js';

// It wants zod 3 without naming it as a dependency; zod 4 brings it along.
registerHooks({
  resolve: (name, context, next) =>
    next(name === 'zod' && context.parentURL?.includes('/beeai-framework/') ? 'zod/v3' : name, context),
});
const { Logger } = await import('beeai-framework/logger/logger');
Logger.root.level = 'silent';
const { A2AAgent } = await import('beeai-framework/adapters/a2a/agents/agent');
const { A2AServer, A2AServerConfig } = await import('beeai-framework/adapters/a2a/serve/server');
const { DummyChatModel } = await import('beeai-framework/adapters/dummy/backend/chat');
const { ToolCallingAgent } = await import('beeai-framework/agents/toolCalling/agent');
const { ChatModelOutput } = await import('beeai-framework/backend/chat');
const { AssistantMessage } = await import('beeai-framework/backend/message');
const { UnconstrainedMemory } = await import('beeai-framework/memory/unconstrainedMemory');

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'BeeAI',
  package: 'beeai-framework',
  clients: {
    '0.3 JSON-RPC': {
      lacks: lacksTasks,
      fails: {
        send: 'it takes the first state of a streamed task for the answer',
        question: 'it takes the first state of a streamed task for the answer',
      },
      connect,
    },
  },
  servers: {
    'JSON-RPC': {
      lacks: {
        question: 'its server never asks',
        push: 'its server has no webhooks, as its card says',
      },
      fails: {
        resubscribe: 'its tasks have other ids than their events, so that following one ends at once',
        'voice: send': 'it answers without an artifact, which by the contract of voice is no answer',
      },
      start,
    },
  },
};

async function connect(url) {
  const agent = new A2AAgent({ url, memory: new UnconstrainedMemory() });
  const run = ({ text, after, file }, events = []) => {
    const input = file
      ? {
          kind: 'message',
          messageId: crypto.randomUUID(),
          role: 'user',
          parts: [
            { kind: 'text', text },
            { kind: 'file', file: { bytes: file.bytes, name: file.name, mimeType: file.mediaType } },
          ],
        }
      : text;
    return agent
      .run({ input }, { taskId: after?.taskId, contextId: after?.contextId })
      .observe((emitter) => emitter.on('update', ({ value }) => void events.push(replyOf(value))));
  };
  return {
    async card() {
      await agent.checkAgentExists();
      return agent.name;
    },
    async send(message) {
      const { result, event } = await run(message);
      return { ...replyOf(event), text: result.text };
    },
    async *stream(message) {
      const events = [];
      await run(message, events);
      yield* events;
    },
  };
}

class EchoModel extends DummyChatModel {
  async _create({ messages, tools }, { signal }) {
    const { content } = messages.findLast(({ role }) => role === 'user');
    const file = content.find(({ type }) => type === 'file');
    const pieces = await answerOf(
      {
        text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
        file: file && { name: file.filename, mediaType: file.mediaType, bytes: file.data },
      },
      signal,
    );
    const input = { response: pieces.join('') };
    const call = { type: 'tool-call', toolCallId: 'call', toolName: tools[0].name, input };
    return new ChatModelOutput([new AssistantMessage([call])]);
  }
}

async function start() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = Object.assign(new A2AServerConfig(), { host: '127.0.0.1', port });
  const agent = new ToolCallingAgent({
    llm: new EchoModel(),
    memory: new UnconstrainedMemory(),
    tools: [],
    meta: { name: 'Peer', description: 'Echoes.' },
  });
  await new A2AServer(config).register(agent, { name: 'Peer', url }).serve();
  // Its server cannot be stopped; it ends with the program.
  return { url, stop: () => undefined };
}
