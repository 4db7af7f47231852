import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

/** A program that is an MCP server on its standard streams; its arguments name its tools, see tools.ts. */
export const mcpProgram = process.env.TEST_MCP_PROGRAM ?? join(import.meta.dirname, 'program.ts');

export interface McpTestServer {
  url: string;
  port: number;
  /** Headers of all requests so far. */
  requests: IncomingMessage['headers'][];
  /** Forgets all sessions, as a restart does. */
  forget(): void;
  stop(): Promise<void>;
}

export interface McpTestServerStart {
  transport?: 'http' | 'sse';
  tools?: readonly string[];
  port?: number;
  /** Only callers with this bearer token are let in. */
  key?: string;
  /** Status for requests of an unknown session. */
  unknownSession?: number;
  /** Requests whose connection breaks before the answer. */
  isReset?: (request: IncomingMessage) => boolean;
  /** How long an idle connection stays open; clients are not told. */
  keepAliveMs?: number;
  onCall?: (words: string) => void;
  descriptions?: readonly string[];
  say?: () => string;
}

type Post = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** An MCP server on a real socket, made with the official SDK. */
export async function startMcpServer(options: McpTestServerStart = {}): Promise<McpTestServer> {
  const { transport = 'http', port = 0, key, isReset, keepAliveMs } = options;
  const requests: IncomingMessage['headers'][] = [];
  const sessions = new Map<string, Post>();
  const answer =
    transport === 'sse' ? await sseAnswer(options, sessions) : await httpAnswer(options, sessions);
  const http = createServer((request, response) => {
    requests.push(request.headers);
    // Node tells clients the limit only where it writes this header itself.
    if (keepAliveMs !== undefined) response.setHeader('connection', 'keep-alive');
    if (isReset?.(request)) request.socket.resetAndDestroy();
    else if (key !== undefined && request.headers.authorization !== `Bearer ${key}`)
      response.writeHead(401).end();
    else void answer(request, response);
  });
  if (keepAliveMs !== undefined)
    Object.assign(http, { keepAliveTimeout: keepAliveMs, keepAliveTimeoutBuffer: 0 });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  const taken = (http.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${taken}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    port: taken,
    requests,
    forget: () => sessions.clear(),
    async stop() {
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    },
  };
}

async function serverOf({ tools = ['echo'], onCall, say, descriptions = [] }: McpTestServerStart) {
  const { createMcpTestServer } = await import('./tools.ts');
  return createMcpTestServer(tools, { descriptions, ...(onCall && { onCall }), ...(say && { say }) });
}

async function sseAnswer(options: McpTestServerStart, sessions: Map<string, Post>): Promise<Post> {
  const { SSEServerTransport } = await import('@modelcontextprotocol/sdk/server/sse.js');
  return async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'POST') {
      const post = sessions.get(url.searchParams.get('sessionId') ?? '');
      if (post === undefined) response.writeHead(404).end();
      else await post(request, response);
      return;
    }
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, (...exchange) => transport.handlePostMessage(...exchange));
    await (await serverOf(options)).connect(transport as Transport);
  };
}

async function httpAnswer(options: McpTestServerStart, sessions: Map<string, Post>): Promise<Post> {
  const { StreamableHTTPServerTransport } = await import(
    '@modelcontextprotocol/sdk/server/streamableHttp.js'
  );
  return async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const session = sessions.get(String(id));
    if (session !== undefined) return await session(request, response);
    if (id !== undefined) {
      const error = { code: -32_000, message: 'Bad Request: Server not initialized' };
      const { unknownSession = 404 } = options;
      response.writeHead(unknownSession, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) =>
        void sessions.set(made, (...exchange) => transport.handleRequest(...exchange)),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await (await serverOf(options)).connect(transport as Transport);
    await transport.handleRequest(request, response);
  };
}

/** Accepts, as the operator, what the MCP servers and agents of a service say about themselves. */
export async function acceptDescriptions(url: string, headers: Record<string, string> = {}): Promise<void> {
  const answer = await fetch(`${url}/operator/policy`, { headers });
  const { descriptions } = (await answer.json()) as {
    descriptions: { kind: string; source: string; sha256: string }[];
  };
  for (const { kind, source, sha256 } of descriptions) {
    const accepted = await fetch(`${url}/operator/policy/descriptions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ kind, source, sha256 }),
    });
    if (!accepted.ok) throw new Error(`The description of ${source} was refused: ${await accepted.text()}`);
  }
}
