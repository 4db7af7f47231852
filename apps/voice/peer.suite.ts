import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { Parts } from './voice.suite.ts';

/** A failing status, a body for status 200, or nothing until the client goes away. */
export type PeerAnswer = { status: number } | object | 'stall';

export interface PeerRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  body: Parts;
}

/** A server at the other end of a call; it remembers what it was asked and answers as told. */
export async function startPeer(answer: (request: PeerRequest) => PeerAnswer | Promise<PeerAnswer>) {
  const requests: PeerRequest[] = [];
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await record(request);
    requests.push(recorded);
    const given = await answer(recorded);
    if (given === 'stall') return;
    const status = 'status' in given && typeof given.status === 'number' ? given.status : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 200 ? JSON.stringify(given) : '');
  }

  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function record(request: IncomingMessage): Promise<PeerRequest> {
  const bytes = await buffer(request);
  const isJson = request.headers['content-type']?.includes('json') ?? false;
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    bytes,
    body: isJson ? JSON.parse(bytes.toString('utf8')) : undefined,
  };
}

/** The answer of an agent over A2A. */
export function artifact(...texts: string[]) {
  const artifacts = [{ artifactId: 'a', parts: texts.map((words) => ({ kind: 'text', text: words })) }];
  return {
    jsonrpc: '2.0',
    id: 1,
    result: { kind: 'task', id: 't', status: { state: 'completed' }, artifacts },
  };
}
