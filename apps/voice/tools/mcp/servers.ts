import { type Environment, type Logger, loadYaml } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import { wordsOf } from '../../errors.ts';
import type { McpConnection } from './connection.ts';
import { type McpServer, mcpSchema } from './schema.ts';

export interface McpServersOptions {
  path: string;
  env: Environment;
  logger: Logger;
}

/** The tools of all MCP servers that could be reached. */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #connections: McpConnection[] = [];
  readonly #stopping = new AbortController();
  /** Resolves when every server has been tried. */
  settled: Promise<void> = Promise.resolve();

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  get tools(): Tool[] {
    return this.#connections.flatMap(({ tools }) => tools);
  }

  /** Connects to all in the background; one that fails is logged, and the others are used. */
  start(): void {
    this.settled = this.#connectAll();
  }

  async #connectAll(): Promise<void> {
    const { path, env, logger } = this.#options;
    try {
      const servers = (await loadYaml(path, mcpSchema, { env, allowMissing: true })) ?? [];
      await Promise.all(servers.map((server) => this.#connect(server)));
    } catch (error) {
      logger.error({ reason: wordsOf(error) }, 'the list of MCP servers cannot be used');
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.settled;
    const closed = await Promise.allSettled(this.#connections.splice(0).map(({ close }) => close()));
    for (const { reason } of closed.filter((outcome) => outcome.status === 'rejected'))
      this.#options.logger.warn({ err: reason }, 'an MCP server was not closed cleanly');
  }

  async #connect(server: McpServer): Promise<void> {
    const { logger } = this.#options;
    const { signal } = this.#stopping;
    const warn = (err: unknown) => logger.warn({ err, server: server.name }, 'an MCP server fails');
    try {
      // The protocol's library is heavy: a service with no MCP server never loads it.
      const { connectMcp } = await import('./connection.ts');
      const connection = await connectMcp(server, warn, signal);
      if (signal.aborted) await connection.close();
      else this.#connections.push(connection);
    } catch (error) {
      if (!signal.aborted) warn(error);
    }
  }
}
