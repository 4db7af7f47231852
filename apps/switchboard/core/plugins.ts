import type { Bus } from '@trunkline/bus';
import type { Environment, Logger } from '@trunkline/config';
import type { AccountAccess } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import type { Hono } from 'hono';
import type { PluginStatus } from '../api-types.ts';
import type { BusMonitor } from '../cluster/bus-monitor.ts';
import type { Peers } from '../cluster/peers.ts';
import type { MessageFiles } from '../content/message-files.ts';
import type { ControlPlane } from '../control/control-plane.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { SurfaceSenders } from '../surfaces/senders.ts';
import { reportError } from '../workspace/problems.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { CoreOptions } from './options.ts';

/** Starts each plugin after those that it names in `after`, and stops them in reverse; one that fails leaves the others alone. */
export class PluginHost {
  readonly #plugins: readonly Plugin[];
  readonly #context: PluginContext;
  readonly #status = new Map<string, PluginStatus>();

  constructor(plugins: readonly Plugin[], context: PluginContext) {
    this.#plugins = startOrder(plugins);
    this.#context = context;
    for (const plugin of plugins) {
      const { off } = plugin;
      this.#report(plugin, off === undefined ? { state: 'waiting' } : { state: 'off', words: off });
    }
  }

  mount(app: Hono<SwitchboardEnv>): void {
    for (const plugin of this.#wanted()) plugin.mount?.(app, this.#contextOf(plugin));
  }

  async start(): Promise<void> {
    for (const plugin of this.#wanted()) await this.#start(plugin);
  }

  async stop(): Promise<void> {
    const running = this.#plugins.filter(({ name }) => this.#status.get(name)?.state === 'running');
    for (const plugin of running.toReversed()) await this.#stop(plugin);
  }

  /** Until every plugin has been started, and from the beginning of a stop. */
  get isStarting(): boolean {
    return this.#wanted().some(({ name }) => this.#status.get(name)?.state === 'waiting');
  }

  list(): PluginStatus[] {
    return [...this.#status.values()].map((status) => {
      const plugin = this.#plugins.find(({ name }) => name === status.name);
      const words = status.state === 'running' ? plugin?.problem?.() : undefined;
      return words === undefined ? status : { ...status, state: 'failed', words };
    });
  }

  #report(plugin: Plugin, status: Pick<PluginStatus, 'state' | 'words'>): void {
    const { name, title, description, kind } = plugin;
    const shown = { ...(title && { title }), ...(description && { description }), ...(kind && { kind }) };
    this.#status.set(name, { name, ...shown, ...status });
  }

  #wanted(): Plugin[] {
    return this.#plugins.filter(({ off }) => off === undefined);
  }

  #contextOf({ name }: Plugin): PluginContext {
    return { ...this.#context, logger: this.#context.logger.child({ plugin: name }) };
  }

  async #start(plugin: Plugin): Promise<void> {
    const { name } = plugin;
    try {
      await plugin.start(this.#contextOf(plugin));
      this.#report(plugin, { state: 'running' });
    } catch (error) {
      const words = errorMessage(error);
      this.#report(plugin, { state: 'failed', words });
      const { bus, logger } = this.#context;
      logger.error({ err: error, plugin: name }, 'failed to start plugin');
      await reportError(bus, logger, { source: 'plugins', plugin: name, error: words });
    }
  }

  async #stop(plugin: Plugin): Promise<void> {
    const { name } = plugin;
    this.#report(plugin, { state: 'waiting' });
    try {
      await plugin.stop();
    } catch (error) {
      this.#context.logger.error({ err: error, plugin: name }, 'failed to stop plugin');
    }
  }
}

function startOrder(plugins: readonly Plugin[]): Plugin[] {
  const ordered = new Set<Plugin>();
  const add = (plugin: Plugin, dependents: readonly Plugin[]) => {
    if (dependents.includes(plugin))
      throw new Error(`The plugin ${plugin.name} waits for itself; see its \`after\`.`);
    for (const name of plugin.after ?? []) {
      const needed = plugins.find((candidate) => candidate.name === name);
      if (needed === undefined)
        throw new Error(`The plugin ${plugin.name} comes after ${name}, which does not exist.`);
      add(needed, [...dependents, plugin]);
    }
    ordered.add(plugin);
  };
  for (const plugin of plugins) add(plugin, []);
  return [...ordered];
}

export interface PluginContext {
  bus: Bus;
  monitor: BusMonitor;
  /** The other switchboards on this bus. */
  peers: Peers;
  workspace: Workspace;
  /** The only writer of workspace files. */
  controlPlane: ControlPlane;
  logger: Logger;
  /** Stamps who writes on a chat or mail surface. */
  senders: Pick<SurfaceSenders, 'stamp' | 'takes'>;
  /** Files of messages, in and out. */
  files: Pick<MessageFiles, 'receive' | 'open'>;
  accounts: Pick<AccountAccess, 'current'>;
  options: CoreOptions;
  /** For variables whose names come from data. */
  env: Environment;
  /** Where it stores data. */
  home: string;
}

export interface Plugin {
  readonly name: string;
  /** What people call it; its name if not set. */
  readonly title?: string;
  /** What it is for, in one sentence; surfaces go by their title. */
  readonly description?: string;
  /** Set for surfaces, which the console map draws. */
  readonly kind?: 'surface';
  /** Names of plugins that start before it and stop after it. */
  readonly after?: readonly string[];
  /** Why it stays off, with the variable that switches it on; it is neither mounted nor started. */
  readonly off?: string | undefined;
  /** Adds routes before the server listens. Paths that guards.ts does not list are public. */
  mount?(app: Hono<SwitchboardEnv>, context: PluginContext): void;
  /** When it throws, the switchboard runs on without it. */
  start(context: PluginContext): Promise<void>;
  /** What keeps it from its work while it runs, in words. */
  problem?(): string | undefined;
  /** Called only after a start that succeeded. */
  stop(): Promise<void>;
}
