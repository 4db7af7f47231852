import type { Bus } from '@trunkline/bus';
import type { Environment, Logger } from '@trunkline/config';
import type { Hono } from 'hono';
import type { ControlPlane } from '../control/control-plane.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { CoreOptions } from './options.ts';

/** What every plugin is given. */
export interface PluginContext {
  bus: Bus;
  workspace: Workspace;
  /** The only way to write files of the workspace. */
  controlPlane: ControlPlane;
  /** Names the plugin on every line. */
  logger: Logger;
  options: CoreOptions;
  /** Where variables whose names come from data are read. */
  env: Environment;
  /** The directory for data of its own. */
  home: string;
}

/** A part of the switchboard with a life of its own: scheduler, ceremonies, surfaces, onboarding. */
export interface Plugin {
  readonly name: string;
  /** Set for surfaces, which the console map draws. */
  readonly kind?: 'surface';
  /** Names of plugins that start before it and stop after it. */
  readonly after?: readonly string[];
  /** Why it stays off, naming the variable that switches it on; it is then neither mounted nor started. */
  readonly off?: string | undefined;
  /** Adds its routes, before the server listens. What is not under a guarded path (see guards.ts) is public. */
  mount?(app: Hono<SwitchboardEnv>, context: PluginContext): void;
  /** Begins to work. When it throws, the rest of the switchboard goes on without it. */
  start(context: PluginContext): Promise<void>;
  /** Ends what `start` began; is called only after a start that did not throw. */
  stop(): Promise<void>;
}
