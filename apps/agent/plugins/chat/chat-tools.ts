import { defineTool, type Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { clamp, oneLine, orRefusal, splitMessage } from '@trunkline/tools';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';

/** Ids are numbers: nothing else may enter a path. */
const snowflake = z.string().regex(/^\d{1,20}$/, 'an id is a number');
const maxMessages = 10;

export function createChatTools(api: ApiClient): Tool[] {
  return [createChatSend(api), createChatRead(api), createChatReact(api)];
}

function createChatSend(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_send',
    description: 'Sends a message to a chat channel; a long one goes out as several.',
    input: z.object({ channel_id: snowflake, content: z.string() }),
    execute: ({ channel_id, content }, { signal }) =>
      orRefusal(async () => {
        const messages = splitMessage(content);
        if (messages.length === 0) return 'Error: the message is empty.';
        if (messages.length > maxMessages)
          return `Error: the message is longer than ${maxMessages} chat messages.`;
        return await sendAll(api, channel_id, messages, signal);
      }, signal),
  });
}

async function sendAll(
  api: ApiClient,
  channel: string,
  messages: string[],
  signal: AbortSignal,
): Promise<string> {
  for (const [index, content] of messages.entries()) {
    try {
      const body = { content, allowed_mentions: { parse: ['users'] } };
      await api(`/channels/${channel}/messages`, { method: 'POST', body, signal });
    } catch (error) {
      if (index === 0) throw error;
      throw new Error(`${index} of ${messages.length} messages were sent, then: ${errorMessage(error)}`);
    }
  }
  return `Sent ${messages.length} message(s) to ${channel}.`;
}

const messageList = z.array(
  z.object({
    id: z.string(),
    content: z.string(),
    timestamp: z.string(),
    author: z.object({ username: z.string() }),
  }),
);

function createChatRead(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_read',
    description: 'Reads the messages of a chat channel, the newest first.',
    input: z.object({
      channel_id: snowflake,
      limit: z.number().int().default(20).describe('How many, from 1 to 100.'),
    }),
    execute: ({ channel_id, limit }, { signal }) =>
      orRefusal(async () => {
        const path = `/channels/${channel_id}/messages?limit=${clamp(limit, 1, 100)}`;
        const messages = messageList.parse(JSON.parse((await api(path, { signal })).text()));
        messages.sort((left, right) => right.timestamp.localeCompare(left.timestamp));
        return messages.length === 0 ? 'No messages.' : messages.map(messageLine).join('\n');
      }, signal),
  });
}

function messageLine({ id, content, timestamp, author }: z.output<typeof messageList>[number]): string {
  return `[${id}] ${timestamp.slice(0, 16)} ${author.username}: ${oneLine(content, 2000)}`;
}

function createChatReact(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_react',
    description: 'Puts an emoji on a chat message.',
    input: z.object({ channel_id: snowflake, message_id: snowflake, emoji: z.string().min(1).max(100) }),
    execute: ({ channel_id, message_id, emoji }, { signal }) =>
      orRefusal(async () => {
        const name = encodeURIComponent(emoji.trim().replace(/^<a?:(.+)>$/, '$1'));
        const path = `/channels/${channel_id}/messages/${message_id}/reactions/${name}/@me`;
        await api(path, { method: 'PUT', signal });
        return `Reacted with ${emoji}.`;
      }, signal),
  });
}
