import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const DIMENSIONS = ['Stations', 'Cost', 'History', 'Wildlife'];

/** An OpenAI-compatible model that takes the same time for every call and answers what research asks for. */
export async function startSlowModel(latencyMs: number): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    text(request)
      .then(async (body) => {
        await delay(latencyMs);
        reply(response, JSON.parse(body) as { messages: { content: unknown }[] });
      })
      .catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function reply(response: ServerResponse, { messages }: { messages: { content: unknown }[] }): void {
  const [system, prompt] = messages.map(({ content }) => String(content));
  const content = answerTo(system ?? '', prompt ?? '');
  const body = {
    id: 'answer',
    object: 'chat.completion',
    created: 0,
    model: 'bench',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function answerTo(system: string, prompt: string): string {
  if (system.startsWith('You plan research'))
    return JSON.stringify({
      dimensions: DIMENSIONS.map((name) => ({ name, queries: [`${name.toLowerCase()} of tidal power`] })),
    });
  if (system.startsWith('You sum up'))
    return JSON.stringify({ summary: 'A summary.', keyFinding: 'A finding.' });
  if (system.startsWith('You judge')) return JSON.stringify({ gaps: [] });
  if (system.startsWith('You check citations')) return JSON.stringify({ verdicts: [] });
  const [, number = '1', sentence = ''] = /^\[(\d+)\] ([^.]+\.)/m.exec(prompt) ?? [];
  return `${sentence} [${number}]`;
}
