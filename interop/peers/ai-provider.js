import { a2a } from 'a2a-ai-provider';
import { generateText, streamText } from 'ai';
import { lacksTasks } from '../echo.js';

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'a2a-ai-provider',
  package: 'a2a-ai-provider',
  clients: {
    '0.3 JSON-RPC': {
      lacks: { ...lacksTasks, card: 'it shows nothing of the card' },
      fails: {
        question: 'it cannot name the task that it answers, so that a new one begins',
        // The switchboard remembers by the conversation which agent asked.
        'switchboard: question': undefined,
      },
      connect,
    },
  },
};

async function connect(url) {
  const request = ({ text, file, after }) => {
    const content = [{ type: 'text', text }];
    if (file)
      content.push({
        type: 'file',
        data: Buffer.from(file.bytes, 'base64'),
        filename: file.name,
        mediaType: file.mediaType,
      });
    return {
      model: a2a(`${url}/.well-known/agent-card.json`),
      messages: [{ role: 'user', content }],
      maxRetries: 0,
      ...(after?.contextId && { providerOptions: { a2a: { contextId: after.contextId } } }),
    };
  };
  return {
    async send(message) {
      const { text, response } = await generateText(request(message));
      const { id, contextId, status } = response.body ?? {};
      return { text, taskId: id, contextId, state: status?.state };
    },
    async *stream(message) {
      const { fullStream } = streamText(request(message));
      for await (const part of fullStream) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'text-delta') yield { text: part.text };
        if (part.type === 'finish') yield { text: '' };
      }
    },
  };
}
