import type { AgentOptions } from '../options.ts';
import { createChatPlugin } from '../plugins/chat/chat-plugin.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { createRepoPlugin } from '../plugins/repo/repo-plugin.ts';
import type { LiveConfig } from './config-file.ts';

/** The plugins that come with the service; each is off until plugins.enabled names it. */
export function builtInPlugins(options: AgentOptions, { config, secrets }: LiveConfig): Plugin[] {
  const chatToken = options.chatBotToken || secrets.chat.bot_token || config.chat.bot_token;
  const repoToken = options.repoToken || secrets.repo.token;
  return [
    createChatPlugin({ token: chatToken || undefined, adminIds: options.chatAdminIds }),
    createRepoPlugin({ token: repoToken || undefined }),
  ];
}
