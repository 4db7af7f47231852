import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, oneLine, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { snowflake } from './snowflake.ts';

const input = z.object({
  channel_id: snowflake,
  limit: z.number().int().default(20).describe('How many, from 1 to 100.'),
});

const messages = z.array(
  z.object({
    id: z.string(),
    content: z.string(),
    timestamp: z.string(),
    author: z.object({ username: z.string() }),
  }),
);

export function createChatRead(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_read',
    description: 'Reads the messages of a chat channel, the newest first.',
    input,
    execute: ({ channel_id, limit }, { signal }) =>
      orRefusal(async () => {
        const response = await api(`/channels/${channel_id}/messages?limit=${clamp(limit, 1, 100)}`, {
          signal,
        });
        const found = messages.parse(JSON.parse(response.text()));
        found.sort((left, right) => right.timestamp.localeCompare(left.timestamp));
        return found.length === 0 ? 'No messages.' : found.map(line).join('\n');
      }, signal),
  });
}

function line({ id, content, timestamp, author }: z.output<typeof messages>[number]): string {
  return `[${id}] ${timestamp.slice(0, 16)} ${author.username}: ${oneLine(content, 2000)}`;
}
