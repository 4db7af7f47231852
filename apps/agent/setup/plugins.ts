import { join } from 'node:path';
import type { Environment, Logger } from '@trunkline/config';
import type { AgentOptions } from '../options.ts';
import { createChatPlugin } from '../plugins/chat/chat-plugin.ts';
import { createCloudPlugin } from '../plugins/cloud/cloud-plugin.ts';
import { findExternalPlugins } from '../plugins/external/external-plugins.ts';
import type { Plugin } from '../plugins/open-plugins.ts';
import { createRepoPlugin } from '../plugins/repo/repo-plugin.ts';
import type { LiveConfig } from './config-file.ts';

export interface PluginParts {
  options: AgentOptions;
  env: Environment | undefined;
  /** The folder of the configuration. */
  directory: string;
  live: LiveConfig;
  logger: Logger;
}

/** The plugins that come with the service, then those of the folder; each is off until plugins.enabled names it. */
export async function allPlugins({ options, env, directory, live, logger }: PluginParts): Promise<Plugin[]> {
  const { fetchAllowedHosts, fetchAllowedCidrs } = options;
  const external = await findExternalPlugins({
    directory: join(directory, 'plugins'),
    env,
    fetch: { allowedHosts: fetchAllowedHosts, allowedCidrs: fetchAllowedCidrs },
    logger,
  });
  return [...builtInPlugins(options, directory, live), ...external];
}

function builtInPlugins(options: AgentOptions, directory: string, { config, secrets }: LiveConfig): Plugin[] {
  const chatToken = options.chatBotToken || secrets.chat.bot_token || config.chat.bot_token;
  return [
    createChatPlugin({ token: chatToken || undefined, adminIds: options.chatAdminIds }),
    createRepoPlugin({ token: options.repoToken || secrets.repo.token || undefined }),
    createCloudPlugin({
      clientId: options.cloudClientId,
      clientSecret: options.cloudClientSecret || secrets.cloud.client_secret || undefined,
      tokenPath: options.cloudTokenPath ?? join(directory, 'cloud-token.json'),
      timezone: options.cloudTimeZone,
    }),
  ];
}
