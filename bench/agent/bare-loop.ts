// The least that answers the same question: a node:http server around the AI SDK's own loop, with nothing kept.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createModelGateway } from '@trunkline/llm';
import { createCalculator } from '@trunkline/tools';
import { isStepCount, streamText, tool } from 'ai';

const model = createModelGateway({}).languageModel();
const calculator = createCalculator();
const tools = {
  calculator: tool({
    description: calculator.description,
    inputSchema: calculator.input,
    execute: async (input, { abortSignal = new AbortController().signal, toolCallId }) =>
      (await calculator.execute?.(input, { signal: abortSignal, sessionId: 'bench', toolCallId })) ?? '',
  }),
};

const server = createServer((request, response) => {
  void answer(request).then((text) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ text }));
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

async function answer(request: IncomingMessage): Promise<string> {
  const { prompt } = (await json(request)) as { prompt: string };
  const result = streamText({ model, prompt, tools, stopWhen: isStepCount(10) });
  let text = '';
  for await (const part of result.stream) if (part.type === 'text-delta') text += part.text;
  return text;
}
