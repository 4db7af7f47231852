import { chatPlugin } from './chat/chat-plugin.ts';
import { cloudPlugin } from './cloud/cloud-plugin.ts';
import type { PluginModule } from './open-plugins.ts';
import { repoPlugin } from './repo/repo-plugin.ts';

/** The plugins that come with the service. To add one, write a module and name it here. */
export const pluginModules: readonly PluginModule[] = [chatPlugin, repoPlugin, cloudPlugin];
