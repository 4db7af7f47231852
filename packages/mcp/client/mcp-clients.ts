import { isDeepStrictEqual } from 'node:util';
import { type CallSubject, defineTool, type Effect, type RunningTool, urlSubject } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { McpClient, type McpClientOptions } from './mcp-client.ts';
import type { McpServerConfig, McpTool } from './session.ts';

export interface McpClientsOptions<Server extends McpServerConfig> extends McpClientOptions<Server> {
  /** Called with a client whose tools changed, and without one when clients were added or removed. */
  onChange?: (client?: McpClient<Server>) => void;
}

export interface McpServerState {
  name: string;
  state: 'connected' | 'failed';
  /** As agents call them. */
  tools: string[];
  /** Why it failed. */
  reason?: string;
  /** For the operator alone, see `McpClient`. */
  stderr?: string;
}

/** Most models accept letters, digits, - and _ in the name of a tool, and no more characters than this. */
const MAX_NAME = 64;
/** Time that a call may spend on connecting again before the server's own limit counts. */
const RECONNECT_MS = 20_000;

/** The clients of all configured servers. */
export class McpClients<Server extends McpServerConfig = McpServerConfig> {
  readonly #options: McpClientsOptions<Server>;
  readonly #clients = new Map<string, McpClient<Server>>();
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: McpClientsOptions<Server>) {
    this.#options = options;
  }

  get(name: string): McpClient<Server> | undefined {
    return this.#clients.get(name);
  }

  [Symbol.iterator](): Iterator<McpClient<Server>> {
    return this.#clients.values();
  }

  get tools(): RunningTool[] {
    return [...this].flatMap(toTools);
  }

  get states(): McpServerState[] {
    return [...this].map(stateOf);
  }

  /** Adds servers with their stored tools; `configure` connects to them. */
  add(servers: readonly Server[]): void {
    const { onChange } = this.#options;
    for (const server of servers) {
      if (this.#clients.has(server.name)) continue;
      this.#clients.set(server.name, new McpClient(server, this.#options, onChange));
    }
    onChange?.();
  }

  /**
   * Replaces the servers, and resolves when each new one has been tried. Those whose settings are the same keep their
   * connection, and with it the calls under way.
   */
  configure(servers: readonly Server[]): Promise<void> {
    this.#queue = this.#queue.then(() => this.#reconcile(servers));
    return this.#queue;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this].map((client) => client.close()));
    await this.#queue;
  }

  async #reconcile(servers: readonly Server[]): Promise<void> {
    if (this.#isClosed) return;
    const wanted = new Map(servers.map((server) => [server.name, server]));
    if (wanted.size < servers.length)
      this.#options.logger.warn(
        { names: servers.map(({ name }) => name) },
        'MCP servers share a name; the last is used',
      );
    const gone = [...this].filter(({ server }) => !isDeepStrictEqual(server, wanted.get(server.name)));
    for (const { server } of gone) this.#clients.delete(server.name);
    await Promise.all(gone.map((client) => client.close()));
    this.add([...wanted.values()]);
    await Promise.all([...this].filter(({ isStarted }) => !isStarted).map((client) => client.start()));
  }
}

type Caller = Pick<McpClient, 'server' | 'tools' | 'error' | 'stderr' | 'callTimeoutMs' | 'call'>;

const converted = new WeakMap<readonly McpTool[], RunningTool[]>();

/** The tools of a server as tools of an agent. */
export function toTools(client: Caller): RunningTool[] {
  const tools = converted.get(client.tools) ?? client.tools.map((tool) => toTool(client, tool));
  converted.set(client.tools, tools);
  return tools;
}

function toTool(client: Caller, tool: McpTool): RunningTool {
  const { name, description, inputSchema } = tool;
  const { name: server, trusted = false } = client.server;
  return defineTool({
    name: `${server}_${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME),
    description: description || `${name} of ${server}`,
    ...(!trusted && { describedBy: `The MCP server ${server}` }),
    input: inputOf(inputSchema),
    timeoutMs: client.callTimeoutMs + RECONNECT_MS,
    ...effectsOf(tool, client.server.trusted),
    async execute(input, { signal }) {
      try {
        const { text, failed } = await client.call(name, input, signal);
        return failed ? failureText(text) : text || '(no output)';
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: the MCP server ${server} gave no answer: ${errorMessage(error)}`;
      }
    },
  }) as RunningTool;
}

/**
 * What a tool may do, by its annotations. Anybody can write those, so that of a server that the operator does not
 * trust they can only add effects.
 */
function effectsOf({ readOnly, destructive, openWorld }: McpTool, trusted = false) {
  const only: Effect[] = trusted && readOnly ? ['reads'] : ['reads', 'writes', 'sends'];
  const effects: Effect[] = destructive ? [...only, 'executes'] : only;
  const external = !(trusted && openWorld === false);
  // Other effects are asked about anyway, whatever the address.
  return { effects, external, ...(external && effects.every((effect) => effect === 'reads') && { subject }) };
}

/** The address that a call names in its arguments; several are one that nobody knows. */
function subject(input: Record<string, unknown>): CallSubject {
  const found = addressesIn(input).map(urlSubject);
  const both = (field: 'url' | 'host') => [...new Set(found.map((each) => each[field]))].join(' ');
  return found.length === 0 ? {} : { url: both('url'), host: both('host') };
}

function addressesIn(value: unknown): string[] {
  if (typeof value === 'string') return isAddress(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(addressesIn) : [];
}

function isAddress(text: string): boolean {
  return /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text.trim());
}

/** A schema that Zod cannot read lets any object through: the server checks it anyway. */
function inputOf(schema: object): z.ZodType<Record<string, unknown>> {
  const anything = z.record(z.string(), z.unknown());
  try {
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    return read.pipe(anything) as unknown as typeof anything;
  } catch (error) {
    if (error instanceof Error) return anything;
    throw error;
  }
}

function failureText(text: string): string {
  if (/^error:/i.test(text)) return text;
  return `Error: ${text || 'the tool failed without saying why'}`;
}

function stateOf(client: Caller): McpServerState {
  const { server, error, stderr } = client;
  const { name } = server;
  if (error !== undefined)
    return { name, state: 'failed', tools: [], reason: error, ...(stderr !== undefined && { stderr }) };
  return { name, state: 'connected', tools: toTools(client).map((tool) => tool.name) };
}
