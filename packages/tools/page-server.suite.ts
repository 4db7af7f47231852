import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PageServer {
  url: string;
  requests: string[];
  stop(): Promise<void>;
}

/** A web server on the loopback whose pages a test writes. */
export async function startPages(
  pages: Record<string, (response: ServerResponse, request: IncomingMessage) => unknown>,
): Promise<PageServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const page = pages[new URL(request.url ?? '/', 'http://localhost').pathname];
    if (page === undefined) response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page');
    else page(response, request);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export function send(type: string, body: string | Uint8Array, status = 200) {
  return (response: ServerResponse) => void response.writeHead(status, { 'content-type': type }).end(body);
}
