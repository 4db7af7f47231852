import type { Logger } from '@trunkline/config';
import type { McpServer } from '../workspace/schema/mcp-server.ts';
import type { McpLink, McpTool } from './mcp-link.ts';
import { isOffered } from './trust.ts';

const firstPauseMs = 1000;
const longestPauseMs = 60_000;
/** Programs may have to fetch themselves first. */
const startMs = 30_000;

/** The way to one server, made anew when it is lost: at once when it is needed, else after a pause that grows. */
export class McpServerLine {
  readonly server: McpServer;
  readonly #logger: Logger;
  readonly #onTools: (line: McpServerLine) => void;
  #link: McpLink | undefined;
  #opening: Promise<McpLink> | undefined;
  #tools: readonly McpTool[];
  #isConfirmed = false;
  #isOpened = false;
  #error: string | undefined = 'it has not answered yet';
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `remembered` are the tools that it had before the restart; `onTools` is told when it has answered with its own. */
  constructor(
    server: McpServer,
    remembered: readonly McpTool[],
    logger: Logger,
    onTools: (line: McpServerLine) => void,
  ) {
    this.server = server;
    this.#tools = remembered.filter(({ name }) => isOffered(server, name));
    this.#logger = logger;
    this.#onTools = onTools;
  }

  /** Those that it had when it was last there. */
  get tools(): readonly McpTool[] {
    return this.#tools;
  }

  /** The server itself has said since the start which tools it has. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  get isOpened(): boolean {
    return this.#isOpened;
  }

  get error(): string | undefined {
    return this.#error;
  }

  /** The first attempt; further ones follow by themselves. */
  async open(): Promise<void> {
    this.#isOpened = true;
    await this.#connect().catch(() => undefined);
  }

  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal) {
    const link = this.#link ?? (await this.#connect());
    try {
      return await link.call(tool, input, signal);
    } catch (error) {
      // A server that answers is there, also when its answer is an error; not every way tells that it is gone.
      if (!signal.aborted && !link.isAnswer(error)) await this.#drop(link, error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.allSettled([this.#opening]);
    await this.#link?.close();
  }

  async #drop(link: McpLink, error: unknown): Promise<void> {
    if (this.#link !== link) return;
    this.#lose(error instanceof Error ? error.message : String(error));
    await link.close();
  }

  #connect(): Promise<McpLink> {
    clearTimeout(this.#timer);
    this.#opening ??= this.#tryOnce().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #tryOnce(): Promise<McpLink> {
    if (this.#closed) throw new Error(`the MCP server ${this.server.name} is no longer configured like this`);
    try {
      const { openMcpLink } = await import('./mcp-link.ts');
      const link = await openMcpLink(this.server, {
        onLost: () => this.#lose('the server went away'),
        timeoutMs: startMs,
      });
      this.#link = link;
      this.#tools = link.tools;
      this.#isConfirmed = true;
      this.#error = undefined;
      this.#failures = 0;
      this.#onTools(this);
      return link;
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  #lose(words: string): void {
    this.#link = undefined;
    this.#error = words;
    if (this.#closed) return;
    this.#logger.warn(`the MCP server cannot be used: ${words}`);
    const pause = Math.min(firstPauseMs * 2 ** this.#failures++, longestPauseMs);
    clearTimeout(this.#timer);
    // A failure has been told by `#lose` already.
    this.#timer = setTimeout(() => void this.open(), pause).unref();
  }
}
