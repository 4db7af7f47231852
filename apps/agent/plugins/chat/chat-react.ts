import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { snowflake } from './snowflake.ts';

const input = z.object({ channel_id: snowflake, message_id: snowflake, emoji: z.string().min(1).max(100) });

export function createChatReact(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_react',
    description: 'Puts an emoji on a chat message.',
    input,
    execute: ({ channel_id, message_id, emoji }, { signal }) =>
      orRefusal(async () => {
        const name = encodeURIComponent(emoji.trim().replace(/^<a?:(.+)>$/, '$1'));
        await api(`/channels/${channel_id}/messages/${message_id}/reactions/${name}/@me`, {
          method: 'PUT',
          signal,
        });
        return `Reacted with ${emoji}.`;
      }, signal),
  });
}
