import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Asked {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A web server on the loopback; a test gives each answer, or none, and then the server stays silent. */
export async function startAnswering(
  answer: (asked: Asked) => Promise<Answer | undefined> | Answer | undefined,
) {
  const asked: Asked[] = [];
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    const question = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: await text(request),
    };
    asked.push(question);
    const given = await answer(question);
    if (given === undefined) return;
    const body = typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? {});
    response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers });
    response.end(given.status === 204 ? undefined : body);
  };
  const server = createServer((request, response) => {
    reply(request, response).catch((error: Error) => response.destroy(error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
