import type { Environment, Logger } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import type { Peers } from '@trunkline/service';
import type { ApprovedTool, Delegate } from '@trunkline/tools';
import { type Approvals, approvalsOf } from './approvals/approvals.ts';
import type { AgentOptions } from './options.ts';
import { type OpenPlugins, openPlugins, type PluginState } from './plugins/open-plugins.ts';
import type { Inbound, Plugin } from './plugins/plugin.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import type { AgentStores } from './stores/stores.ts';
import { delegatesOf, peerDelegates } from './tools/delegates.ts';
import { type McpServerState, type McpSources, openMcpSources } from './tools/mcp/mcp-source.ts';
import type { ToolDeps, ToolModule } from './tools/tool-module.ts';

export interface ToolsetOptions {
  modules: readonly ToolModule[];
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  workspace: string;
  stores: AgentStores;
  scheduler: ScheduleBackend | undefined;
  /** Plugins that can be enabled; read with each configuration, as it may hold their keys. */
  plugins(): Promise<readonly Plugin[]>;
  logger: Logger;
}

/** The tools that one state of the configuration allows. */
export interface Tools {
  tools: Tool[];
  approvals: Approvals;
}

/** Collects the tools of modules, plugins and MCP servers, again for each state of the configuration. */
export class Toolset {
  readonly #options: ToolsetOptions;
  #mcp: McpSources | undefined;
  #plugins: OpenPlugins | undefined;
  #delegates: Delegate[] = [];
  #onMoreTools: () => void = () => undefined;
  #onInbound: Inbound | undefined;

  constructor(options: ToolsetOptions) {
    this.#options = options;
  }

  /** Calls the listener when an MCP server connects that did not answer in `open`. */
  onMoreTools(listener: () => void): void {
    this.#onMoreTools = listener;
  }

  /** Sets what runs a turn for a message that comes in through a plugin. */
  onInbound(run: Inbound): void {
    this.#onInbound = run;
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

  async open(config: AgentConfig, skills: ToolDeps['skills']): Promise<Tools> {
    const { modules, env, peers, workspace } = this.#options;
    const outside = await this.#openOutside(config);
    const configured = delegatesOf(config, { workspace, env });
    this.#delegates = [...configured, ...peerDelegates(peers, configured)];
    return collectTools(modules, this.#toolDeps(config, skills), outside);
  }

  /** Connects to a server to see whether it answers, and disconnects again. */
  async tryMcp(server: AgentConfig['mcp']['servers'][number]): Promise<McpServerState | undefined> {
    const tried = await openMcpSources([server], { logger: this.#options.logger });
    await tried.close();
    return tried.states[0];
  }

  async close(): Promise<void> {
    await this.#plugins?.close();
    await this.#mcp?.close();
  }

  #toolDeps(config: AgentConfig, skills: ToolDeps['skills']): ToolDeps {
    const { options, env, workspace, stores, scheduler } = this.#options;
    return {
      options,
      config,
      env,
      stores: { ...stores, knowledge: config.middleware.knowledge ? stores.knowledge : undefined },
      scheduler: config.middleware.scheduler ? scheduler : undefined,
      workspace,
      delegates: this.#delegates,
      skills,
      fetch: {
        allowedHosts: [...options.fetchAllowedHosts, ...config.egress.allowed_hosts],
        allowedCidrs: options.fetchAllowedCidrs,
      },
    };
  }

  /** Replaces plugins and MCP servers by those of the new configuration; servers that stay keep their connection. */
  async #openOutside(config: AgentConfig): Promise<Tool[]> {
    const { plugins, logger } = this.#options;
    const inbound = this.#onInbound;
    await this.#plugins?.close();
    const [opened, mcp] = await Promise.all([
      openPlugins(await plugins(), config.plugins, { logger, inbound }),
      openMcpSources(
        config.mcp.servers.filter(({ enabled }) => enabled),
        { logger, before: this.#mcp, onAnswer: () => this.#onMoreTools() },
      ),
    ]);
    this.#plugins = opened;
    this.#mcp = mcp;
    return [...opened.tools, ...mcp.tools];
  }
}

/** Of two tools with one name the first stays: nothing from outside replaces a built-in tool. */
export function collectTools(
  modules: readonly ToolModule[],
  deps: ToolDeps,
  outside: readonly Tool[] = [],
): Tools {
  const builtIn = modules.flatMap((module) => module.tools(deps));
  const tools = [...builtIn.map((each) => (isApproved(each) ? each.tool : each)), ...outside];
  const unwanted = new Set(deps.config.tools.disabled);
  return {
    tools: tools.filter(({ name }) => !unwanted.has(name) && unwanted.add(name)),
    approvals: approvalsOf(builtIn.filter(isApproved)),
  };
}

function isApproved(tool: Tool | ApprovedTool): tool is ApprovedTool {
  return 'approve' in tool;
}
