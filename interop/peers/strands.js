import { createServer } from 'node:http';
import { Agent, Model } from '@strands-agents/sdk';
import { A2AAgent } from '@strands-agents/sdk/a2a';
import { A2AExpressServer } from '@strands-agents/sdk/a2a/express';
import express from 'express';
import { answerOf, lacksTasks, listen, replyOf } from '../echo.js';

/** @type {import('../peer.ts').Peer} */
export const peer = {
  name: 'Strands',
  package: '@strands-agents/sdk',
  clients: {
    '0.3 JSON-RPC': {
      lacks: { ...lacksTasks, files: 'it sends text only' },
      fails: { question: 'it reads answers of completed tasks only, and cannot name a task' },
      connect,
    },
  },
  servers: {
    'JSON-RPC': {
      lacks: {
        question: 'its server never asks',
        cancel: 'its server says "Task cancellation is not supported"',
        push: 'its server has no webhooks, as its card says',
      },
      fails: { files: 'it turns text/plain into a format of its own, "txt"' },
      start,
    },
  },
};

async function connect(url) {
  const agent = new A2AAgent({ url });
  return {
    async card() {
      await agent.invoke('what is 1+1');
      return agent.name;
    },
    send: async ({ text }) => ({ text: (await agent.invoke(text)).toString() }),
    async *stream({ text }) {
      for await (const { event } of agent.stream(text)) if (event) yield replyOf(event);
    },
  };
}

class EchoModel extends Model {
  updateConfig() {
    // Nothing of it can be changed.
  }
  getConfig() {
    return { modelId: 'echo' };
  }
  async *stream(messages, { cancelSignal } = {}) {
    const content = messages.at(-1)?.content ?? [];
    const blob = content.find((block) => block.source?.bytes ?? block.source?.text);
    const pieces = await answerOf(
      {
        text: content.map((block) => (block.type === 'textBlock' ? block.text : '')).join(''),
        file: blob && {
          name: blob.name,
          mediaType: blob.format,
          bytes: Buffer.from(blob.source.bytes ?? blob.source.text).toString('base64'),
        },
      },
      cancelSignal,
    );
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    yield { type: 'modelContentBlockStartEvent' };
    for (const text of pieces)
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' };
  }
}

async function start() {
  const server = await listen(createServer);
  const a2a = new A2AExpressServer({
    name: 'Peer',
    description: 'Echoes.',
    httpUrl: server.url,
    agentFactory: () => new Agent({ model: new EchoModel(), printer: false }),
  });
  server.use(express().use(a2a.createMiddleware()));
  return server;
}
