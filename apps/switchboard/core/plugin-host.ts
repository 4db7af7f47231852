import type { Hono } from 'hono';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { announce } from '../workspace/report.ts';
import type { Plugin, PluginContext, PluginStatus } from './plugin.ts';

/** Runs the plugins in their order and stops them in the reverse one; one that fails leaves the others alone. */
export class PluginHost {
  readonly #plugins: readonly Plugin[];
  readonly #context: PluginContext;
  readonly #status = new Map<string, PluginStatus>();

  constructor(plugins: readonly Plugin[], context: PluginContext) {
    this.#plugins = plugins;
    this.#context = context;
    for (const { name, off } of plugins)
      this.#status.set(
        name,
        off === undefined ? { name, state: 'waiting' } : { name, state: 'off', words: off },
      );
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

  list(): PluginStatus[] {
    return [...this.#status.values()];
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
      this.#status.set(name, { name, state: 'running' });
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.#status.set(name, { name, state: 'failed', words });
      const { bus, logger } = this.#context;
      logger.error({ err: error, plugin: name }, 'a plugin could not start');
      const payload = { source: 'plugins', plugin: name, error: words };
      await announce(bus, logger, { topic: 'system.error', payload });
    }
  }

  async #stop(plugin: Plugin): Promise<void> {
    const { name } = plugin;
    this.#status.set(name, { name, state: 'waiting' });
    try {
      await plugin.stop();
    } catch (error) {
      this.#context.logger.error({ err: error, plugin: name }, 'a plugin did not stop as it should');
    }
  }
}
