import { type Environment, type Logger, readVariable } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import type { Peers } from '@trunkline/service';
import { type ApprovedTool, createRunCommand, type Delegate } from '@trunkline/tools';
import { type Approvals, approvalsOf } from './approvals/approvals.ts';
import type { AgentOptions } from './options.ts';
import { type OpenPlugins, openPlugins, type PluginState } from './plugins/open-plugins.ts';
import type { Inbound, Plugin } from './plugins/plugin.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import { codingAgentsOf, delegatesOf } from './setup/delegates.ts';
import { peerDelegates } from './setup/peers.ts';
import type { AgentStores } from './stores/stores.ts';
import { createCodeWith } from './tools/acp/code-with.ts';
import { createAgentTools } from './tools/agent-tools.ts';
import { createSetGoal } from './tools/goals/set-goal.ts';
import { type McpServerState, type McpSources, openMcpSources } from './tools/mcp/mcp-source.ts';
import { readPeers } from './tools/peers/peers.ts';

export interface ToolsetOptions {
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  /** The directory of the file tools. */
  workspace: string;
  stores: AgentStores;
  scheduler: ScheduleBackend | undefined;
  /** Those that can be enabled; asked with each configuration, as their keys may be in it. */
  plugins(): Promise<readonly Plugin[]>;
  /** Runs a turn for what comes in through a plugin. */
  inbound: Inbound;
  /** Told when a server answers that did not when its tools were asked for. */
  onMoreTools(): void;
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
  #plugins: OpenPlugins | undefined;
  #delegates: Delegate[] = [];

  constructor(options: ToolsetOptions) {
    this.#options = options;
  }

  get mcpStates(): readonly McpServerState[] {
    return this.#mcp?.states ?? [];
  }

  get pluginStates(): readonly PluginState[] {
    return this.#plugins?.states ?? [];
  }

  get delegates(): readonly Delegate[] {
    return this.#delegates;
  }

  async open(config: AgentConfig): Promise<Tools> {
    const { options, env, peers, workspace, stores, scheduler } = this.#options;
    const more = await this.#openOutside(config);
    const named = delegatesOf(config, { workspace, env });
    this.#delegates = [...named, ...peerDelegates(peers, named)];
    const coding = codingTool(codingAgentsOf(config, { workspace, env }));
    const approved = [...this.#commands(config), this.#goals(config), ...coding.approved];
    const tools = createAgentTools({
      stores: { ...stores, knowledge: config.middleware.knowledge ? stores.knowledge : undefined },
      schedules: config.middleware.scheduler ? scheduler : undefined,
      workspace: config.filesystem.enabled ? workspace : undefined,
      approved,
      peers: readPeers(env),
      delegates: this.#delegates,
      searxngUrl: options.searxngUrl,
      fetch: {
        allowedHosts: [...options.fetchAllowedHosts, ...config.egress.allowed_hosts],
        allowedCidrs: options.fetchAllowedCidrs,
      },
      more: [...coding.tools, ...more],
      disabled: config.tools.disabled,
    });
    return { tools, approvals: approvalsOf(approved) };
  }

  /** Connects to a server to see whether it answers, and leaves it again. */
  async tryMcp(server: AgentConfig['mcp']['servers'][number]): Promise<McpServerState | undefined> {
    const tried = await openMcpSources([server], { logger: this.#options.logger });
    await tried.close();
    return tried.states[0];
  }

  async close(): Promise<void> {
    await this.#plugins?.close();
    await this.#mcp?.close();
  }

  /** Plugins and MCP servers of the new configuration in place of those of the old; servers that stay keep their connection. */
  async #openOutside(config: AgentConfig): Promise<Tool[]> {
    const { plugins, inbound, logger, onMoreTools } = this.#options;
    await this.#plugins?.close();
    const [opened, mcp] = await Promise.all([
      openPlugins(await plugins(), config.plugins, { logger, inbound }),
      openMcpSources(
        config.mcp.servers.filter(({ enabled }) => enabled),
        { logger, before: this.#mcp, onAnswer: onMoreTools },
      ),
    ]);
    this.#plugins = opened;
    this.#mcp = mcp;
    return [...opened.tools, ...mcp.tools];
  }

  #commands(config: AgentConfig): ApprovedTool[] {
    const { workspace, env } = this.#options;
    return runsCommands(config) ? [createRunCommand({ directory: workspace, path: programPath(env) })] : [];
  }

  #goals(config: AgentConfig): ApprovedTool {
    const { stores, workspace } = this.#options;
    const commandDirectory = runsCommands(config) ? workspace : undefined;
    return createSetGoal({ goals: stores.goals, commandDirectory });
  }
}

/** Whether the operator has turned commands on. */
export function runsCommands({ filesystem }: AgentConfig): boolean {
  return filesystem.enabled && filesystem.run_command;
}

/** code_with, as a tool that runs or as one that asks first. */
function codingTool(agents: ReturnType<typeof codingAgentsOf>): { tools: Tool[]; approved: ApprovedTool[] } {
  if (agents.length === 0) return { tools: [], approved: [] };
  const { tool, approved } = createCodeWith(agents);
  return { tools: tool === undefined ? [] : [tool], approved: approved === undefined ? [] : [approved] };
}
