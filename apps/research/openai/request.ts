import { z } from 'zod';
import type { ChatMessage } from '../chat/request.ts';

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
});

/** A chat completion as clients of OpenAI's API ask for it; what is not understood is let through unread. */
export const completionSchema = z.looseObject({
  model: z.string().min(1),
  messages: z
    .array(message)
    .min(1)
    .max(500)
    .refine((messages) => messages.at(-1)?.role === 'user', "The last message must be the user's."),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

export type CompletionRequest = z.output<typeof completionSchema>;

/** What was said by user and assistant. */
export function conversationOf({ messages }: CompletionRequest): ChatMessage[] {
  return messages.flatMap((entry) =>
    entry.role === 'user' || entry.role === 'assistant'
      ? [{ role: entry.role, content: textOf(entry.content) }]
      : [],
  );
}

/** What the caller's program tells the model. */
export function systemWords({ messages }: CompletionRequest): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ content }) => textOf(content))
    .join('\n\n');
}

function textOf(content: CompletionRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('\n');
}
