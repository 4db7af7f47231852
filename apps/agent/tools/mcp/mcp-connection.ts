import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

/** An MCP server: a process that speaks over its standard streams, or an address. */
export interface McpServerConfig {
  name: string;
  command?: string | undefined;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  url?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  timeout_s?: number;
}

export interface McpToolHead {
  name: string;
  description?: string | undefined;
  inputSchema: object;
}

export interface McpResult {
  text: string;
  failed: boolean;
}

const CONNECT_TIMEOUT_MS = 15_000;
const MOST_TOOLS = 200;

/** The way to one server. A connection that was lost is made anew with the next call. */
export class McpConnection {
  readonly #config: McpServerConfig;
  #client: Promise<Client> | undefined;
  #closed = false;

  constructor(config: McpServerConfig) {
    this.#config = config;
  }

  async tools(): Promise<McpToolHead[]> {
    return await this.#ask(async (client) => {
      const tools: McpToolHead[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor }, {
          timeout: CONNECT_TIMEOUT_MS,
        });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined && tools.length < MOST_TOOLS);
      return tools.slice(0, MOST_TOOLS);
    });
  }

  async call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<McpResult> {
    const timeout = (this.#config.timeout_s ?? 60) * 1000;
    return await this.#ask(async (client) => {
      const result = await client.callTool({ name, arguments: input }, undefined, { signal, timeout });
      return { text: textOf(result.content), failed: result.isError === true };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const [client] = await Promise.allSettled([this.#client]);
    if (client.status === 'fulfilled') await client.value?.close();
  }

  /** A server that was started anew does not know the connection: it did nothing, and is asked over another one. */
  async #ask<Result>(question: (client: Client) => Promise<Result>): Promise<Result> {
    const used = this.#connected();
    try {
      return await question(await used);
    } catch (error) {
      if (!isForgotten(error)) throw error;
      if (this.#client === used) this.#client = undefined;
      return await question(await this.#connected());
    }
  }

  #connected(): Promise<Client> {
    if (this.#closed) throw new Error(`the connection to ${this.#config.name} is closed.`);
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const client = new Client({ name: 'trunkline', version: '0.1.0' });
    const forget = () => {
      this.#client = undefined;
    };
    client.onclose = forget;
    try {
      await client.connect(transportFor(this.#config), { timeout: CONNECT_TIMEOUT_MS });
      return client;
    } catch (error) {
      forget();
      await client.close();
      throw error;
    }
  }
}

/** Some servers say "not initialized" where the protocol asks for status 404. */
function isForgotten(error: unknown): boolean {
  if (!(error instanceof StreamableHTTPError)) return false;
  return error.code === 404 || (error.code === 400 && /session|initialized/i.test(error.message));
}

function transportFor({ name, command, args = [], env = {}, url, headers = {} }: McpServerConfig): Transport {
  if (command !== undefined) {
    const environment = { ...getDefaultEnvironment(), ...env };
    return new StdioClientTransport({ command, args: [...args], env: environment, stderr: 'ignore' });
  }
  if (url === undefined) throw new Error(`the MCP server ${name} needs a command or a url.`);
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
  }) as Transport;
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .map(partText)
    .filter((text) => text !== '')
    .join('\n');
}

function partText(part: {
  type?: string;
  text?: string;
  mimeType?: string;
  resource?: { text?: string; uri?: string };
}): string {
  if (part.type === 'text') return part.text ?? '';
  if (part.type === 'resource') return part.resource?.text ?? part.resource?.uri ?? '';
  return `[${part.type ?? 'part'}${part.mimeType === undefined ? '' : ` ${part.mimeType}`}]`;
}
