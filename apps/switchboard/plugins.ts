import { LeaderPlugin } from './cluster/leader.ts';
import type { Plugin } from './core/plugin.ts';
import type { ProjectDirectory } from './core/project-directory.ts';
import type { SwitchboardOptions } from './options.ts';
import { SchedulerPlugin } from './scheduler/plugin.ts';
import { createCodehostSurface } from './surfaces/codehost/surface.ts';
import { createDeliveryDesk } from './surfaces/delivery/delivery-desk.ts';

export interface Plugins {
  /** In the order in which they start. */
  list: Plugin[];
  /** Kept by the plugin that asks the project registry. */
  projects: ProjectDirectory;
}

/** Every plugin of the switchboard. */
export function createPlugins(options: SwitchboardOptions): Plugins {
  const deliveries = createDeliveryDesk();
  const leader = new LeaderPlugin(options.leaseMs);
  const surfaces = [createCodehostSurface(options, deliveries)];
  return {
    list: [deliveries, leader, new SchedulerPlugin(leader), ...surfaces],
    projects: { list: () => [] },
  };
}
