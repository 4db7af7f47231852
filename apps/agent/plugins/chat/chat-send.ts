import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal, splitMessage } from '@trunkline/tools';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { snowflake } from './snowflake.ts';

const MOST_MESSAGES = 10;

export function createChatSend(api: ApiClient): Tool {
  return defineTool({
    name: 'chat_send',
    description: 'Sends a message to a chat channel; a long one goes out as several.',
    input: z.object({ channel_id: snowflake, content: z.string() }),
    execute: ({ channel_id, content }, { signal }) =>
      orRefusal(async () => {
        const pieces = splitMessage(content);
        if (pieces.length === 0) return 'Error: the message is empty.';
        if (pieces.length > MOST_MESSAGES)
          return `Error: the message is longer than ${MOST_MESSAGES} chat messages.`;
        return await sendAll(api, channel_id, pieces, signal);
      }, signal),
  });
}

async function sendAll(
  api: ApiClient,
  channel: string,
  pieces: string[],
  signal: AbortSignal,
): Promise<string> {
  for (const [index, content] of pieces.entries()) {
    try {
      const body = { content, allowed_mentions: { parse: ['users'] } };
      await api(`/channels/${channel}/messages`, { method: 'POST', body, signal });
    } catch (error) {
      if (index === 0) throw error;
      throw new Error(
        `${index} of ${pieces.length} messages were sent, then: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  return `Sent ${pieces.length} message(s) to ${channel}.`;
}
