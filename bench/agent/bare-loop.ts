// The least that answers the same question: the AI SDK's own loop and provider behind node:http, with nothing kept.
// LLM_GATEWAY_URL=… node bench/agent/bare-loop.ts prints its address; POST {"prompt": "…"} gives {"text": "…"}.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

const provider = createOpenAICompatible({
  name: 'gateway',
  baseURL: process.env.LLM_GATEWAY_URL ?? '',
  includeUsage: true,
});
const model = provider('bench-model');
const tools = {
  calculator: tool({
    description: 'Computes an arithmetic expression.',
    inputSchema: z.object({ expression: z.string().describe('Such as 12 * 34') }),
    execute: async ({ expression }) => {
      const [left = '', right = ''] = expression.split('*');
      return String(Number(left) * Number(right));
    },
  }),
};

if (import.meta.main) serve();

export async function bareTurn(prompt: string): Promise<string> {
  const result = streamText({ model, prompt, tools, stopWhen: isStepCount(10) });
  let text = '';
  for await (const part of result.stream) if (part.type === 'text-delta') text += part.text;
  return text;
}

function serve(): void {
  const server = createServer((request, response) => {
    answer(request).then(
      (text) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ text }));
      },
      (error: Error) => response.destroy(error),
    );
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  process.on('SIGTERM', () => process.exit(0));
}

async function answer(request: IncomingMessage): Promise<string> {
  const { prompt } = (await json(request)) as { prompt: string };
  return bareTurn(prompt);
}
