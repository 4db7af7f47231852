import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface PeerRequest {
  path: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: requests of any shape are compared as they are
  body: any;
}

/** A status with a body, a body alone, or nothing until the client goes away. */
export type PeerAnswer = { status: number; body?: unknown } | object | 'stall';

/** A server at the other end of a call; it remembers what it was asked and answers as told. */
export async function startPeer(answer: (request: PeerRequest) => PeerAnswer) {
  const requests: PeerRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const recorded = { path: request.url ?? '', headers: request.headers, body: JSON.parse(body || 'null') };
    requests.push(recorded);
    const given = answer(recorded);
    if (given === 'stall') return;
    const status = 'status' in given && typeof given.status === 'number' ? given.status : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? given : {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
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
