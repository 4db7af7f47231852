import type { Logger } from '@trunkline/config';
import type { SkillExecutor, SkillRequest, SkillResult } from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { fieldsOf } from '../dispatch/request.ts';
import type { McpServer } from '../workspace/schema/mcp-server.ts';
import { type McpLink, openMcpLink } from './mcp-link.ts';

export interface McpClientSettings {
  servers: () => readonly McpServer[];
  registry: ExecutorRegistry;
  logger: Logger;
}

interface Entry {
  config: string;
  link: McpLink | undefined;
  error: string | undefined;
}

/** What of a community comes in only when the operator says so; what is trusted unless the operator says no. */
export function isEnabled({ trust, enabled }: McpServer): boolean {
  return enabled ?? trust !== 'community';
}

/** Keeps a link to every enabled server and registers its tools as skills `<server>.<tool>`. */
export class McpServers {
  readonly #settings: McpClientSettings;
  readonly #entries = new Map<string, Entry>();
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: McpClientSettings) {
    this.#settings = settings;
  }

  /** Takes the servers as they are in the files now. */
  refresh(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#reconcile());
    return this.#turn;
  }

  /** Why a server has no tools now, in words. */
  errorOf(name: string): string | undefined {
    return this.#entries.get(name)?.error;
  }

  async close(): Promise<void> {
    await this.#turn;
    await Promise.all([...this.#entries.keys()].map((name) => this.#remove(name)));
  }

  async #reconcile(): Promise<void> {
    const wanted = new Map(
      this.#settings
        .servers()
        .filter(isEnabled)
        .map((server) => [server.name, server]),
    );
    for (const [name, { config }] of this.#entries) {
      const server = wanted.get(name);
      if (server === undefined || JSON.stringify(server) !== config) await this.#remove(name);
    }
    const added = [...wanted.values()].filter(({ name }) => !this.#entries.has(name));
    await Promise.all(added.map((server) => this.#add(server)));
    this.#register();
  }

  async #add(server: McpServer): Promise<void> {
    const config = JSON.stringify(server);
    try {
      this.#entries.set(server.name, { config, link: await openMcpLink(server), error: undefined });
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : String(cause);
      this.#settings.logger.warn({ server: server.name }, `the MCP server cannot be used: ${error}`);
      this.#entries.set(server.name, { config, link: undefined, error });
    }
  }

  async #remove(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    await entry?.link?.close();
  }

  #register(): void {
    const executors = [...this.#entries].flatMap(([name, { link }]) =>
      link ? [executorOf(name, link)] : [],
    );
    this.#settings.registry.replace('mcp', executors);
  }
}

function executorOf(server: string, link: McpLink): SkillExecutor {
  return {
    agent: server,
    type: 'mcp',
    skills: link.tools.map(({ name, description }) => ({
      name: `${server}.${name}`,
      description,
      keywords: [],
    })),
    execute: async (request, { signal }) => {
      const tool = request.skill.slice(server.length + 1);
      const { text, failed } = await link.call(tool, argumentsOf(request), signal);
      const result: SkillResult = { content: text, taskState: 'completed' };
      return failed ? { ...result, error: text, taskState: 'failed' } : result;
    },
  };
}

/** The content is the tool's input as a JSON object; a plain text goes in as `input`. */
function argumentsOf({ content }: SkillRequest): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(content));
  } catch {
    // No JSON, so it is plain text.
    return { input: content };
  }
}
