import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { dataDirectory, serviceHome } from '@trunkline/storage';
import type { VoiceOptions } from './options.ts';

/** Where the service finds and keeps its files. */
export interface Directories {
  config: string;
  /** What must survive a restart. */
  store: string;
  delegates: string;
  mcp: string;
  users: string;
}

/** Creates the directories that the options name, or those of the service's home. */
export async function findDirectories(options: VoiceOptions, logger: Logger): Promise<Directories> {
  const home = serviceHome(options.trunklineHome, 'voice');
  const directory = async (configured: string | undefined, fallback: string) => {
    const { path, fellBack, reason } = await dataDirectory(configured, fallback);
    if (fellBack) logger.warn({ reason }, `${path} is used instead`);
    return path;
  };
  const config = await directory(options.configDir, join(home, 'config'));
  return {
    config,
    store: await directory(options.sessionStoreDir, home),
    delegates: options.delegatesYaml ?? join(config, 'delegates.yaml'),
    mcp: options.mcpYaml ?? join(config, 'mcp.yaml'),
    users: options.usersYaml ?? join(config, 'users.yaml'),
  };
}
