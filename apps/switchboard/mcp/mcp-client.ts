import type { Logger } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import type { SkillExecutor, SkillRequest, SkillResult } from '../dispatch/executor.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { fieldsOf } from '../dispatch/request.ts';
import type { SkillStore } from '../dispatch/skill-store.ts';
import type { McpServer } from '../workspace/schema/mcp-server.ts';
import { toAgentTool } from './agent-tool.ts';
import type { McpTool } from './mcp-link.ts';
import { McpServerLine } from './server-line.ts';
import { isEnabled, isGranted } from './trust.ts';

export interface McpClientSettings {
  servers: () => readonly McpServer[];
  registry: ExecutorRegistry;
  /** Holds the tools of each server over a restart. */
  store: SkillStore;
  logger: Logger;
}

/** Keeps a line to every enabled server, registers its tools as skills `<server>.<tool>` and grants them to agents. */
export class McpServers {
  readonly #settings: McpClientSettings;
  readonly #lines = new Map<string, McpServerLine>();
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: McpClientSettings) {
    this.#settings = settings;
  }

  /** Registers what the servers offered before the restart; they are asked by `refresh`. */
  restore(): void {
    this.#addMissing();
    this.#register();
  }

  /** Takes the servers as they are in the files now. */
  refresh(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#reconcile());
    return this.#turn;
  }

  /** Why a server cannot be used now, in words. */
  errorOf(name: string): string | undefined {
    return this.#lines.get(name)?.error;
  }

  /** The tools that an agent of this process may use in its turns. */
  toolsFor(agent: string): Tool[] {
    return [...this.#lines.values()]
      .filter(({ server }) => isGranted(server, agent))
      .flatMap((line) => line.tools.map((tool) => toAgentTool(line, tool)));
  }

  async close(): Promise<void> {
    await this.#turn;
    await Promise.all([...this.#lines.keys()].map((name) => this.#remove(name)));
  }

  async #reconcile(): Promise<void> {
    const wanted = this.#wanted();
    for (const [name, line] of this.#lines) {
      const server = wanted.get(name);
      if (server === undefined || JSON.stringify(server) !== JSON.stringify(line.server))
        await this.#remove(name);
    }
    this.restore();
    const added = [...this.#lines.values()].filter(({ isOpened }) => !isOpened);
    await Promise.all(added.map((line) => line.open()));
    this.#register();
  }

  #wanted(): Map<string, McpServer> {
    const enabled = this.#settings.servers().filter(isEnabled);
    return new Map(enabled.map((server) => [server.name, server]));
  }

  #addMissing(): void {
    const { logger, store } = this.#settings;
    for (const [name, server] of this.#wanted()) {
      if (this.#lines.has(name)) continue;
      const remembered = store.recall<McpTool>('mcp', name);
      const onTools = (line: McpServerLine) => this.#confirm(line);
      this.#lines.set(name, new McpServerLine(server, remembered, logger.child({ server: name }), onTools));
    }
  }

  #confirm({ server: { name }, tools }: McpServerLine): void {
    const { logger, store } = this.#settings;
    try {
      store.keep('mcp', name, tools);
    } catch (error) {
      logger.warn({ err: error, server: name }, 'failed to store the tools of an MCP server');
    }
    this.#register();
  }

  async #remove(name: string): Promise<void> {
    const line = this.#lines.get(name);
    this.#lines.delete(name);
    await line?.close();
  }

  #register(): void {
    const known = [...this.#lines.values()].filter(({ tools }) => tools.length > 0);
    this.#settings.registry.replace('mcp', known.map(executorOf));
  }
}

function executorOf(line: McpServerLine): SkillExecutor {
  const { name: server } = line.server;
  return {
    agent: server,
    type: 'mcp',
    skills: line.tools.map(({ name, description }) => ({
      name: `${server}.${name}`,
      description,
      keywords: [],
      ...(!line.isConfirmed && { pending: true }),
    })),
    execute: async (request, { signal }) => {
      const tool = request.skill.slice(server.length + 1);
      const { text, failed } = await line.call(tool, argumentsOf(request), signal);
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
