import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endlessAnswer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { type McpServerConfig, probeMcpServer } from '../index.ts';

const probe = (url: string, more: Partial<McpServerConfig> = {}) =>
  probeMcpServer({ name: 'far', url, ...more }, { clientName: 'test' });

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Answers `initialize` as it should, and the list of tools as given. */
function hostile(tools: (response: ServerResponse) => void): RequestListener {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id, method } = await bodyOf(request);
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    if (method !== 'initialize') return tools(response);
    const serverInfo = { name: 'far', version: '1' };
    const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  return (request, response) => void answer(request, response);
}

async function bodyOf(request: IncomingMessage): Promise<{ id?: unknown; method?: string }> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}

it.each([
  ['JSON', 'application/json', '{"jsonrpc":"2.0","id":1,"result":{"tools":["'],
  ['an event', 'text/event-stream', 'data: "'],
])('reads no more than a limit of %s that never ends', async (_, type, begins) => {
  const endless = endlessAnswer({ type, begins, megabytes: 200 });
  const url = await listen(hostile(endless.answer));
  probe(url).catch(() => undefined);
  expect(await endless.taken()).toBeLessThan(100);
});

it('takes the headers of a server to no other place', async () => {
  const seen: IncomingMessage['headers'][] = [];
  const elsewhere = await listen((request, response) => {
    seen.push(request.headers);
    response.writeHead(404).end('what only this machine may read');
  });
  const url = await listen((_, response) => void response.writeHead(307, { location: elsewhere }).end());
  await expect(probe(url, { headers: { 'x-api-key': 'secret' } })).rejects.toThrow();
  expect(seen).toEqual([]);
});
