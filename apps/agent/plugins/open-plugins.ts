import type { OptionSet, OptionsOf, OptionTable } from '@trunkline/config';
import type { Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import type { AgentConfig, AgentSecrets } from '../setup/config-schema.ts';

export interface PluginState {
  id: string;
  description: string;
  state: 'off' | 'on' | 'missing' | 'failed';
  tools: string[];
  /** What is missing, or why it failed. */
  reason?: string;
  /** What is denied to it and yet not enforced on this system; left out when everything is. */
  unenforced?: string[];
}

export interface OpenPlugins {
  tools: Tool[];
  states: PluginState[];
  close(): Promise<void>;
}

export interface PluginChoice {
  enabled: readonly string[];
  disabled: readonly string[];
}

/** Opens the plugins that are enabled. One that fails is named and left out; the service runs all the same. */
export async function openPlugins(
  plugins: readonly Plugin[],
  { enabled, disabled }: PluginChoice,
  context: PluginContext,
): Promise<OpenPlugins> {
  for (const id of enabled)
    if (!plugins.some((plugin) => plugin.id === id))
      context.logger.warn({ plugin: id }, 'unknown plugin enabled');
  const wanted = (id: string) => enabled.includes(id) && !disabled.includes(id);
  const opened = await Promise.all(plugins.map((plugin) => openOne(plugin, wanted(plugin.id), context)));
  return {
    tools: opened.flatMap(({ open }) => open?.tools ?? []),
    states: opened.map(({ state }) => state),
    async close() {
      await Promise.all(opened.map(async ({ open }) => await open?.close()));
    },
  };
}

interface Opened {
  state: PluginState;
  open?: OpenPlugin;
}

async function openOne(plugin: Plugin, wanted: boolean, context: PluginContext): Promise<Opened> {
  const { id, description } = plugin;
  const head = { id, description, tools: [] };
  if (!wanted) return { state: { ...head, state: 'off' } };
  const reason = plugin.missing();
  if (reason !== undefined) {
    context.logger.warn({ plugin: id, reason }, 'plugin enabled but not set up');
    return { state: { ...head, state: 'missing', reason } };
  }
  try {
    const open = await plugin.open(context);
    const { tools, unenforced = [] } = open;
    const honest = unenforced.length > 0 && { unenforced: [...unenforced] };
    return { open, state: { ...head, state: 'on', tools: tools.map(({ name }) => name), ...honest } };
  } catch (error) {
    context.logger.error({ err: error, plugin: id }, 'failed to open plugin');
    return {
      state: { ...head, state: 'failed', reason: errorMessage(error) },
    };
  }
}

type LogMethod = (fields: object, message: string) => void;

export interface InboundMessage {
  text: string;
  source: string;
  contextId: string;
  /** Who wrote it, by the platform's own id. */
  author: string;
  /** The operator lists them in the settings of the plugin. */
  isListed?: boolean | undefined;
  files?: readonly InboundFile[] | undefined;
}

/** A file that came with a message, by its address on the platform. */
export interface InboundFile {
  uri: string;
  name: string;
  mediaType?: string;
}

/** A message that came to the agent through a plugin; the answer goes back the same way. */
export type Inbound = (message: InboundMessage) => Promise<string | InboundAnswer>;

export interface InboundAnswer {
  text: string;
  /** What the agent made for whoever asked. */
  files: readonly { name: string; mediaType: string; bytes: Uint8Array }[];
}

/** Who may write to the agent through a plugin. */
export interface ChatDoor {
  /** A person with an account, an approver, or anybody where the agent is public. */
  admits(author: string): boolean;
  /** What somebody else is told; undefined when they were told lately. */
  notice(stranger: { author: string; name: string; isDirect: boolean }): string | undefined;
}

/** What a plugin may use of the service. */
export interface PluginContext {
  logger: { info: LogMethod; warn: LogMethod; error: LogMethod };
  /** Runs a turn for a message from outside; plugins that only offer tools do not need it. */
  inbound?: Inbound | undefined;
  /** Without it, everybody whom the plugin itself lets in may write. */
  door?: ChatDoor | undefined;
}

interface OpenPlugin {
  tools: Tool[];
  /** What is denied to it and yet not enforced on this system. */
  unenforced?: readonly string[];
  close(): Promise<void>;
}

/** One capability that is off until it is enabled by its id. */
export interface Plugin {
  id: string;
  description: string;
  /** What must be set before it can work, naming the variable; undefined when nothing is missing. */
  missing(): string | undefined;
  open(context: PluginContext): Promise<OpenPlugin>;
}

/** What a plugin that comes with the service is created from. */
export interface PluginDeps<Options = unknown> {
  /** The settings that the plugin declares. */
  options: Options;
  config: AgentConfig;
  secrets: AgentSecrets;
  /** The folder of the configuration. */
  directory: string;
}

/** A plugin that comes with the service and describes itself, as a tool module does. */
export interface PluginModule {
  /** Become settings of the service, with their lines in --help, .env.example and the reference. */
  options: OptionSet;
  create(deps: PluginDeps): Plugin;
}

export function definePlugin<const Options extends OptionSet>(module: {
  options: Options;
  create(deps: PluginDeps<OptionsOf<OptionTable<Options>>>): Plugin;
}): PluginModule {
  // The service reads the options of all plugins, so that each finds its own among them.
  return module as PluginModule;
}
