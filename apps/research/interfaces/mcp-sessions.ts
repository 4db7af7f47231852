import { randomUUID } from 'node:crypto';
import { WebStandardStreamableHTTPServerTransport as HttpTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createMcpServer, type McpDeps } from './mcp-server.ts';

interface Session {
  transport: HttpTransport;
  usedAt: number;
}

const MOST_SESSIONS = 100;
const IDLE_MS = 30 * 60_000;

/** MCP clients over streamable HTTP. Each has a session, so that it can cancel what it asked for. */
export class McpSessions {
  readonly #parts: McpDeps;
  readonly #sessions = new Map<string, Session>();

  constructor(parts: McpDeps) {
    this.#parts = parts;
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return await (await this.#open()).handleRequest(request);
    const session = this.#sessions.get(id);
    // By the protocol, 404 tells the client to begin again.
    if (session === undefined) return refusal(404, 'There is no such session. Initialise a new one.');
    session.usedAt = Date.now();
    return await session.transport.handleRequest(request);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #open(): Promise<HttpTransport> {
    await this.#makeRoom();
    const transport = new HttpTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, { transport, usedAt: Date.now() }),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await createMcpServer(this.#parts).connect(transport as Transport);
    return transport;
  }

  /** Sessions that lie idle go, and beyond the limit the one that lay idle longest. */
  async #makeRoom(): Promise<void> {
    const idle = [...this.#sessions].sort(([, left], [, right]) => left.usedAt - right.usedAt);
    const surplus = idle.length - MOST_SESSIONS + 1;
    for (const [index, [id, { transport, usedAt }]] of idle.entries()) {
      if (index >= surplus && Date.now() - usedAt < IDLE_MS) continue;
      this.#sessions.delete(id);
      await transport.close();
    }
  }
}

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_001, message } }, { status });
}
