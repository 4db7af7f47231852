import { createServer } from 'node:http';
import { BaseLlm, InMemoryRunner, LlmAgent, RemoteA2AAgent, setLogLevel, toA2a } from '@google/adk';
import { answerOf, lacksTasks, listen, replyOf } from '../echo.js';

setLogLevel?.(4);

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'Google ADK',
  package: '@google/adk',
  clients: {
    '0.3 JSON-RPC': {
      lacks: lacksTasks,
      fails: {
        question: 'it answers without the id of the task, so that a new one begins',
        // The switchboard remembers by the conversation which agent asked.
        'switchboard: question': undefined,
        files: 'it drops the name of a file',
      },
      connect,
    },
  },
  servers: {
    'JSON-RPC': {
      lacks: {
        question: 'only its tools can ask, and take a function response for an answer',
        cancel: 'its server says "Task cancellation is not supported yet"',
        push: 'its server has no webhooks, as its card says',
      },
      fails: { files: 'it drops the name of a file' },
      start,
    },
  },
};

async function connect(url) {
  const raw = [];
  const agent = new RemoteA2AAgent({
    name: 'remote',
    agentCard: url,
    afterRequestCallbacks: [(_, event) => void raw.push(replyOf(event))],
  });
  const runner = new InMemoryRunner({ agent, appName: 'interop' });
  const session = await runner.sessionService.createSession({ appName: 'interop', userId: 'interop' });
  async function* stream({ text, file }) {
    const parts = [{ text }];
    if (file)
      parts.push({ inlineData: { data: file.bytes, mimeType: file.mediaType, displayName: file.name } });
    const newMessage = { role: 'user', parts };
    for await (const event of runner.runAsync({ userId: 'interop', sessionId: session.id, newMessage })) {
      if (event.errorMessage) throw new Error(event.errorMessage);
      const { state, taskId, contextId } = raw.at(-1) ?? {};
      const said = (event.content?.parts ?? []).map((part) => part.text ?? '').join('');
      yield { text: said, partial: event.partial, state, taskId, contextId };
    }
  }
  return {
    async card() {
      // It reads the card with the first message, whatever the answer is.
      await Array.fromAsync(stream({ text: 'what is 1+1' })).catch(() => undefined);
      return agent.card.name;
    },
    stream,
    async send(message) {
      const events = await Array.fromAsync(stream(message));
      const text = events.map((event) => (event.partial ? '' : event.text)).join('\n');
      return { ...events.at(-1), text, state: raw.at(-1)?.state };
    },
  };
}

class EchoModel extends BaseLlm {
  constructor() {
    super({ model: 'echo' });
  }
  async *generateContentAsync({ contents }, _stream, signal) {
    const parts = contents.at(-1)?.parts ?? [];
    const inline = parts.find((part) => part.inlineData)?.inlineData;
    const pieces = await answerOf(
      {
        text: parts.map((part) => part.text ?? '').join(''),
        file: inline && { name: inline.displayName, mediaType: inline.mimeType, bytes: inline.data },
      },
      signal,
    );
    for (const text of pieces) yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    yield { content: { role: 'model', parts: [{ text: pieces.join('') }] }, turnComplete: true };
  }
  async connect() {
    throw new Error('no live mode');
  }
}

async function start() {
  const server = await listen(createServer);
  const agent = new LlmAgent({ name: 'peer', description: 'Echoes.', model: new EchoModel() });
  server.use(await toA2a(agent, { host: '127.0.0.1', port: server.port, allowUnauthenticated: true }));
  return server;
}
