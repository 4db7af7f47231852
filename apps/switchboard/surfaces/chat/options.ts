import { group, text, url } from '@trunkline/config';
import type { SurfaceOptions } from '../surface.ts';

export const chatOptions = group('Chat', {
  chatBotToken: text({
    env: 'CHAT_BOT_TOKEN',
    secret: true,
    doc: 'Bot token of the chat platform (Discord); switches the surface on.',
  }),
  chatGuildId: text({ env: 'CHAT_GUILD_ID', doc: 'The server where slash commands are registered.' }),
  chatDigestChannel: text({
    env: 'CHAT_DIGEST_CHANNEL',
    doc: 'Channel for what schedules post, where chat.yaml names none.',
  }),
  chatApiUrl: url({
    env: 'CHAT_API_URL',
    default: 'https://discord.com/api',
    doc: 'Base address of the API.',
  }),
});

export type ChatOptions = SurfaceOptions<typeof chatOptions>;
