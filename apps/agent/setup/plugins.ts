import { join } from 'node:path';
import type { AgentContext } from '../context.ts';
import { findExternalPlugins } from '../plugins/external/external-plugins.ts';
import type { Plugin } from '../plugins/open-plugins.ts';
import { pluginModules } from '../plugins/plugin-modules.ts';

/** The plugins that come with the service, then those of the folder; each is off until plugins.enabled names it. */
export async function allPlugins(context: AgentContext): Promise<Plugin[]> {
  const { options, env, directory, live, sandbox, logger } = context;
  const { config, secrets } = live;
  const { fetchAllowedHosts: allowedHosts, fetchAllowedCidrs: allowedCidrs } = options;
  const external = await findExternalPlugins({
    directory: join(directory, 'plugins'),
    env,
    fetch: { allowedHosts, allowedCidrs },
    logger,
    sandbox,
  });
  return [...pluginModules.map(({ create }) => create({ options, config, secrets, directory })), ...external];
}
