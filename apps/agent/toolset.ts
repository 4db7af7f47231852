import { type Environment, type Logger, readVariable } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import type { AgentOptions } from './options.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import type { AgentStores } from './stores/stores.ts';
import { createAgentTools } from './tools/agent-tools.ts';
import { type ApprovedTool, answerApproval } from './tools/approved-tool.ts';
import { createRunCommand } from './tools/files/run-command.ts';
import { type McpServerState, type McpSources, openMcpSources } from './tools/mcp/mcp-source.ts';
import { readPeers } from './tools/peers/peers.ts';
import type { Approvals } from './turns/approvals.ts';

export interface ToolsetOptions {
  options: AgentOptions;
  env: Environment | undefined;
  /** The directory of the file tools. */
  workspace: string;
  stores: AgentStores;
  scheduler: ScheduleBackend | undefined;
  logger: Logger;
}

/** The tools that one state of the configuration allows. */
export interface Tools {
  tools: Tool[];
  approvals: Approvals;
}

const programs = '/usr/local/bin:/usr/bin:/bin';

/** Where commands of the agent find programs. */
export function programPath(env: Environment | undefined): string {
  return readVariable('PATH', env) ?? programs;
}

/** Brings together the tools of all sources; what comes from outside is opened anew with the configuration. */
export class Toolset {
  readonly #options: ToolsetOptions;
  #mcp: McpSources | undefined;

  constructor(options: ToolsetOptions) {
    this.#options = options;
  }

  get mcpStates(): readonly McpServerState[] {
    return this.#mcp?.states ?? [];
  }

  async open(config: AgentConfig): Promise<Tools> {
    const { options, env, workspace, stores, scheduler, logger } = this.#options;
    const before = this.#mcp;
    const mcp = await openMcpSources(config.mcp.servers, logger);
    this.#mcp = mcp;
    await before?.close();
    const approved = this.#approved(config);
    const tools = createAgentTools({
      stores: { ...stores, knowledge: config.middleware.knowledge ? stores.knowledge : undefined },
      schedules: config.middleware.scheduler ? scheduler : undefined,
      workspace: config.filesystem.enabled ? workspace : undefined,
      approved,
      peers: readPeers(env),
      searxngUrl: options.searxngUrl,
      fetch: {
        allowedHosts: [...options.fetchAllowedHosts, ...config.egress.allowed_hosts],
        allowedCidrs: options.fetchAllowedCidrs,
      },
      more: mcp.tools,
      disabled: config.tools.disabled,
    });
    return { tools, approvals: approvalsOf(approved) };
  }

  async close(): Promise<void> {
    await this.#mcp?.close();
  }

  #approved({ filesystem }: AgentConfig): ApprovedTool[] {
    if (!filesystem.enabled || !filesystem.run_command) return [];
    const { workspace, env } = this.#options;
    return [createRunCommand({ directory: workspace, path: programPath(env) })];
  }
}

function approvalsOf(approved: readonly ApprovedTool[]): Approvals {
  return {
    question: ({ name, input }) => approved.find(({ tool }) => tool.name === name)?.question(input),
    answer: (call, answer, signal) => answerApproval(approved, call, answer, signal),
  };
}
