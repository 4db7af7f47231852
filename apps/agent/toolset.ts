import type { Environment, Logger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import type { ContentStore } from '@trunkline/loop';
import {
  McpClients,
  type McpClientsOptions,
  type McpServerConfig,
  type McpServerState,
} from '@trunkline/mcp';
import type { Sandbox } from '@trunkline/sandbox';
import type { Peers } from '@trunkline/service';
import { type ApprovedTool, type Delegate, FileMarks } from '@trunkline/tools';
import { type Approvals, approvalsOf } from './approvals/approvals.ts';
import type { AgentOptions } from './options.ts';
import type { Owners } from './owners.ts';
import {
  type ChatDoor,
  type Inbound,
  type OpenPlugins,
  openPlugins,
  type Plugin,
  type PluginState,
} from './plugins/open-plugins.ts';
import type { ScheduleBackend } from './scheduler/schedule-backend.ts';
import type { AgentConfig } from './setup/config-schema.ts';
import type { AgentStores } from './stores/stores.ts';
import { delegatesOf, peerDelegates } from './tools/delegation-tools.ts';
import type { ToolDeps, ToolModule } from './tools/tool-module.ts';

export interface ToolsetOptions {
  modules: readonly ToolModule[];
  options: AgentOptions;
  env: Environment | undefined;
  peers: Peers | undefined;
  workspace: string;
  sandbox: Sandbox;
  stores: AgentStores;
  scheduler: ScheduleBackend | undefined;
  files: ContentStore;
  owners: Owners;
  /** Plugins that can be enabled; read with each configuration, as it may hold their keys. */
  plugins(): Promise<readonly Plugin[]>;
  /** How to sign in to MCP servers, and the model that they may use. */
  mcp: Pick<McpClientsOptions<McpServerConfig>, 'oauth' | 'sample'>;
  logger: Logger;
}

/** What was found when a server was tried. */
export interface TriedServer extends McpServerState {
  prompts?: number;
  resources?: number;
}

const TRIAL_MS = 10_000;

/** The tools that one state of the configuration allows. */
export interface Tools {
  tools: Tool[];
  approvals: Approvals;
}

/** Collects the tools of modules, plugins and MCP servers, again for each state of the configuration. */
export class Toolset {
  readonly #options: ToolsetOptions;
  readonly #mcp: McpClients;
  readonly #fileMarks: FileMarks;
  #plugins: OpenPlugins | undefined;
  #delegates: Delegate[] = [];
  #onToolsChange: () => void = () => undefined;
  #onInbound: Inbound | undefined;
  #door: ChatDoor | undefined;
  #isOpening = false;

  constructor(options: ToolsetOptions) {
    this.#options = options;
    this.#fileMarks = new FileMarks(options.options.trunklineHome, { viewer: options.owners.viewer });
    this.#mcp = this.#mcpClients((client) => {
      // While tools are being collected, what changes is collected with them.
      if (client !== undefined && !this.#isOpening) this.#onToolsChange();
    });
  }

  /** Calls the listener when an MCP server answers that did not in `open`, or offers other tools than then. */
  onToolsChange(listener: () => void): void {
    this.#onToolsChange = listener;
  }

  /** Sets what runs a turn for a message that comes in through a plugin. */
  onInbound(run: Inbound, door: ChatDoor): void {
    this.#onInbound = run;
    this.#door = door;
  }

  get mcp(): McpClients {
    return this.#mcp;
  }

  get pluginStates(): readonly PluginState[] {
    return this.#plugins?.states ?? [];
  }

  get delegates(): readonly Delegate[] {
    return this.#delegates;
  }

  async open(config: AgentConfig, skills: ToolDeps['skills']): Promise<Tools> {
    const { modules, options, env, peers, workspace, sandbox } = this.#options;
    const outside = await this.#openOutside(config);
    const configured = delegatesOf(config, { workspace, env, sandbox });
    this.#delegates = [...configured, ...peerDelegates(peers, configured, options.agentName)];
    return collectTools(modules, this.#toolDeps(config, skills), outside);
  }

  /** Connects to a server to see what it offers, and disconnects again. */
  async tryMcp(server: AgentConfig['mcp']['servers'][number]): Promise<TriedServer | undefined> {
    const tried = this.#mcpClients();
    try {
      await tried.configure([serverOf(server)]);
      const [state] = tried.states;
      const client = tried.get(server.name);
      if (state?.state !== 'connected' || client === undefined) return state;
      const signal = AbortSignal.timeout(TRIAL_MS);
      const count = (list: Promise<readonly unknown[]>) => list.then(({ length }) => length).catch(() => 0);
      const [prompts, resources] = await Promise.all([
        count(client.prompts(signal)),
        client.hasResources ? count(client.resources(signal)) : 0,
      ]);
      return { ...state, prompts, resources };
    } finally {
      await tried.close();
    }
  }

  async close(): Promise<void> {
    await this.#plugins?.close();
    await this.#mcp.close();
  }

  #toolDeps(config: AgentConfig, skills: ToolDeps['skills']): ToolDeps {
    const { options, env, workspace, sandbox, stores, scheduler, files, owners } = this.#options;
    return {
      options,
      config,
      env,
      stores: { ...stores, knowledge: config.middleware.knowledge ? stores.knowledge : undefined },
      scheduler: config.middleware.scheduler ? scheduler : undefined,
      files,
      actor: (principal = anonymous) => owners.actor(principal),
      workspace,
      fileMarks: this.#fileMarks,
      sandbox,
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
    const [inbound, door] = [this.#onInbound, this.#door];
    this.#isOpening = true;
    try {
      await this.#plugins?.close();
      const servers = config.mcp.servers.filter(({ enabled }) => enabled);
      const [opened] = await Promise.all([
        openPlugins(await plugins(), config.plugins, { logger, inbound, door }),
        this.#mcp.configure(servers.map(serverOf)),
      ]);
      this.#plugins = opened;
      return [...opened.tools, ...this.#mcp.tools];
    } finally {
      this.#isOpening = false;
    }
  }

  /** Without a listener they are for a trial, which changes nothing here. */
  #mcpClients(onChange?: (client?: object) => void): McpClients {
    const { logger, sandbox, workspace, mcp } = this.#options;
    return new McpClients({
      ...mcp,
      clientName: 'trunkline',
      logger,
      configuredIn: () => 'mcp.servers of the configuration',
      ...(onChange && {
        onChange,
        onResourceUpdated: ({ name }: McpServerConfig, uri: string) => this.#noteUpdate(name, uri),
      }),
      sandbox,
      writable: [workspace],
    });
  }

  /** The agent reads it with check_inbox, as text from outside. */
  #noteUpdate(server: string, uri: string): void {
    const { stores, logger } = this.#options;
    try {
      stores.inbox.add({
        text: `The resource ${uri} of the MCP server ${server} has changed.`,
        priority: 'later',
        source: `mcp:${server}`,
        dedupKey: `mcp ${server} ${uri}`,
      });
    } catch (error) {
      logger.warn({ err: error, server }, 'failed to record the change of an MCP resource');
    }
  }
}

function serverOf(entry: AgentConfig['mcp']['servers'][number]): McpServerConfig {
  const { enabled: _, timeout_s, sampling, oauth, ...server } = entry;
  return {
    ...server,
    timeoutMs: timeout_s * 1000,
    ...(sampling && {
      sampling: { callsPerHour: sampling.calls_per_hour, maxTokens: sampling.max_tokens },
    }),
    ...(oauth && {
      oauth: { clientId: oauth.client_id, clientSecret: oauth.client_secret, scope: oauth.scope },
    }),
  };
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
