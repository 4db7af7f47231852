// Serves built pages as a service does: with the strict content policy, and a few routes that the test answers.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const POLICY =
  "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'";

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** What every service answers. */
const EVERYWHERE: Record<string, Route> = {
  '/operator': (_request, response) => sendJson(response, 200, { operator: true, open: true, key_file: '' }),
};

export interface PageServer {
  url: string;
  stop(): Promise<void>;
}

export async function servePages(directory: string, routes: Record<string, Route>): Promise<PageServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const route = { ...EVERYWHERE, ...routes }[pathname];
    if (route) route(request, response);
    else sendFile(join(directory, pathname === '/' ? 'index.html' : pathname), response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendFile(file: string, response: ServerResponse): void {
  const type = TYPES[extname(file)];
  if (type === undefined || !existsSync(file)) return void response.writeHead(404).end();
  response
    .writeHead(200, { 'content-type': type, 'content-security-policy': POLICY })
    .end(readFileSync(file));
}
