import { group, text, url } from '@trunkline/config';
import type { SurfaceOptions } from '../surface.ts';

export const chatOptions = group('Chat (Discord)', {
  chatBotToken: text({
    env: 'CHAT_BOT_TOKEN',
    secret: true,
    doc: "Token of your Discord bot. It connects the switchboard's chat surface, or the agent's chat plugin if you enable that.",
  }),
  chatGuildId: text({ env: 'CHAT_GUILD_ID', doc: 'Discord server on which slash commands are registered.' }),
  chatDigestChannel: text({
    env: 'CHAT_DIGEST_CHANNEL',
    doc: 'Channel for results of schedules, if chat.yaml names none.',
  }),
  chatApiUrl: url({
    env: 'CHAT_API_URL',
    default: 'https://discord.com/api',
    doc: 'Address of the Discord API.',
  }),
});

export type ChatOptions = SurfaceOptions<typeof chatOptions>;
