import type { Logger } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import { type McpClient, McpClients, type McpTool, probeMcpServer, toTools } from '@trunkline/mcp';
import type { Sandbox } from '@trunkline/sandbox';
import type { SkillExecutor, SkillRequest, SkillResult } from '../dispatch/executor.ts';
import type { ExecutorRegistry, SkillStore } from '../dispatch/registry.ts';
import { fieldsOf } from '../dispatch/request.ts';
import type { McpServer } from '../workspace/schema/agent.ts';

export interface McpServersOptions {
  servers: () => readonly McpServer[];
  registry: ExecutorRegistry;
  store: SkillStore;
  logger: Logger;
  sandbox: Sandbox;
}

const shared = {
  clientName: 'switchboard',
  configuredIn: ({ name }: McpServer) => `mcp-servers.d/${name}.yaml`,
  isOffered,
};

/** Connects to every enabled server, registers its tools as skills `<server>.<tool>` and grants them to agents. */
export function createMcpServers(options: McpServersOptions) {
  const { store, logger, sandbox } = options;
  const clients = new McpClients<McpServer>({
    ...shared,
    logger,
    sandbox,
    storedTools: ({ name }) => store.recall<McpTool>('mcp', name),
    onChange: (client) => {
      if (client !== undefined) storeTools(client);
      register();
    },
  });

  /** Registers tools known from before the restart; `refresh` connects. */
  function restore(): void {
    clients.add(enabled());
  }

  /** Connects to the servers of the files. */
  function refresh(): Promise<void> {
    return clients.configure(enabled());
  }

  /** Only the operator may see `stderr`. */
  function failureOf(name: string): Pick<McpClient, 'error' | 'stderr'> {
    return clients.get(name) ?? { error: undefined, stderr: undefined };
  }

  /** Tools granted to an in-process agent. */
  function toolsFor(agent: string): Tool[] {
    return [...clients].filter(({ server }) => isGranted(server, agent)).flatMap(toTools);
  }

  /** Connects once and lists the tools that the entry lets through. */
  function probe(server: McpServer): Promise<McpTool[]> {
    return probeMcpServer(server, { ...shared, sandbox });
  }

  function close(): Promise<void> {
    return clients.close();
  }

  function enabled(): McpServer[] {
    return options
      .servers()
      .filter(isEnabled)
      .map((server) => ({ ...server, trusted: server.trust !== 'community' }));
  }

  function storeTools({ server: { name }, tools }: McpClient<McpServer>): void {
    try {
      store.keep('mcp', name, tools);
    } catch (error) {
      logger.warn({ err: error, server: name }, 'failed to store the tools of an MCP server');
    }
  }

  function register(): void {
    const known = [...clients].filter(({ tools }) => tools.length > 0);
    options.registry.replace('mcp', known.map(executorOf));
  }

  return { restore, refresh, failureOf, toolsFor, probe, close };
}

export type McpServers = ReturnType<typeof createMcpServers>;

/** Community servers are off by default, others on. */
export function isEnabled({ trust, enabled }: McpServer): boolean {
  return enabled ?? trust !== 'community';
}

/** `grants` lists agents or `*`; without it, all agents have the tools of built-in servers. */
export function isGranted({ trust, grants }: McpServer, agent: string): boolean {
  if (grants === undefined) return trust === 'builtin';
  return grants.includes(agent) || grants.includes('*');
}

function isOffered({ allowedTools, excludeTools = [] }: McpServer, tool: string): boolean {
  return (allowedTools === undefined || allowedTools.includes(tool)) && !excludeTools.includes(tool);
}

function executorOf(client: McpClient<McpServer>): SkillExecutor {
  const { name: server } = client.server;
  return {
    agent: server,
    type: 'mcp',
    skills: client.tools.map(({ name, description }) => ({
      name: `${server}.${name}`,
      description,
      keywords: [],
      ...(!client.isConfirmed && { pending: true }),
    })),
    execute: async (request, { signal }) => {
      const tool = request.skill.slice(server.length + 1);
      const { text, failed } = await client.call(tool, argumentsOf(request), signal);
      const result: SkillResult = { content: text, taskState: 'completed' };
      return failed ? { ...result, error: text, taskState: 'failed' } : result;
    },
  };
}

/** The content is the tool's input as a JSON object; plain text becomes `input`. */
function argumentsOf({ content }: SkillRequest): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(content));
  } catch {
    return { input: content };
  }
}
