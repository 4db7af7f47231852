import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { A2AAgent } from '@mastra/core/a2a';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { MastraServer } from '@mastra/hono';
import { InMemoryTaskStore } from '@mastra/server/a2a/store';
import { Hono } from 'hono';
import { answerOf, lacksTasks, listen, plainText } from '../echo.js';

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'Mastra',
  package: '@mastra/core',
  clients: {
    '0.3 JSON-RPC': client('0.3'),
    '1.0 JSON-RPC': client('1.0'),
  },
  servers: {
    'JSON-RPC': {
      lacks: {
        question: 'its server never asks',
        push: 'its server refuses webhooks at private addresses, and cannot be told otherwise',
      },
      fails: {
        resubscribe: 'it ends a task whose stream is left',
        files: 'it drops the name of a file',
      },
      start,
    },
  },
};

function client(version) {
  const lacks = { ...lacksTasks, files: 'it sends text and data only' };
  return { lacks, connect: (url) => connect(url, version) };
}

async function connect(url, protocolVersion) {
  const agent = new A2AAgent({ url, protocolVersion, retries: 0 });
  return {
    card: async () => (await agent.getAgentCard()).name,
    async send({ text, after }) {
      const result = after
        ? await agent.resumeGenerate(text, { runId: after.runId })
        : await agent.generate(text);
      const { taskId, contextId, task } = result.resumePayload ?? {};
      return {
        text: result.text || plainText(task?.status?.message?.parts),
        runId: result.runId,
        taskId,
        contextId,
        state: task?.status?.state,
      };
    },
    async *stream({ text }) {
      const { fullStream } = await agent.stream(text);
      for await (const { type, payload } of fullStream)
        if (type === 'text-delta') yield { text: payload.text };
        else yield { text: '' };
    },
  };
}

/** A model as the AI SDK defines it. */
const model = {
  specificationVersion: 'v2',
  provider: 'echo',
  modelId: 'echo',
  supportedUrls: {},
  async doGenerate({ prompt, abortSignal }) {
    const pieces = await answerTo(prompt, abortSignal);
    return {
      content: [{ type: 'text', text: pieces.join('') }],
      finishReason: 'stop',
      usage,
      warnings: [],
    };
  },
  async doStream({ prompt, abortSignal }) {
    const pieces = await answerTo(prompt, abortSignal);
    return {
      stream: ReadableStream.from([
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: 't' },
        ...pieces.map((delta) => ({ type: 'text-delta', id: 't', delta })),
        { type: 'text-end', id: 't' },
        { type: 'finish', finishReason: 'stop', usage },
      ]),
    };
  },
};
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function answerTo(prompt, signal) {
  const content = prompt.findLast(({ role }) => role === 'user')?.content ?? [];
  const file = content.find(({ type }) => type === 'file');
  return answerOf(
    {
      text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      file: file && {
        name: file.filename,
        mediaType: file.mediaType,
        bytes: typeof file.data === 'string' ? file.data : Buffer.from(file.data).toString('base64'),
      },
    },
    signal,
  );
}

/** Its card is not at the root: the address of the card is what its users hand on. */
async function start() {
  const server = await listen(createServer);
  const agent = new Agent({ id: 'peer', name: 'Peer', description: 'Echoes.', instructions: 'Echo.', model });
  const app = new Hono();
  const mastra = new Mastra({ agents: { peer: agent }, logger: false });
  await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
  server.use(getRequestListener(app.fetch));
  return { ...server, url: `${server.url}/api/.well-known/peer/agent-card.json` };
}
