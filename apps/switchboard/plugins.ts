import type { Plugin } from './core/plugin.ts';
import type { ProjectDirectory } from './core/project-directory.ts';
import type { SwitchboardOptions } from './options.ts';
import { createDeliveryDesk } from './surfaces/delivery/delivery-desk.ts';

export interface Plugins {
  /** In the order in which they start. */
  list: Plugin[];
  /** Kept by the plugin that asks the project registry. */
  projects: ProjectDirectory;
}

/** Every plugin of the switchboard. */
export function createPlugins(_options: SwitchboardOptions): Plugins {
  const deliveries = createDeliveryDesk();
  return { list: [deliveries], projects: { list: () => [] } };
}
