import { z } from 'zod';

const message = z.object({ role: z.enum(['user', 'assistant']), content: z.string().max(200_000) });

/** A conversation whose last message is the user's. */
export const chatSchema = z.object({
  messages: z
    .array(message)
    .min(1)
    .max(500)
    .refine(
      (messages) => messages.at(-1)?.role === 'user' && messages.at(-1)?.content.trim() !== '',
      "The last message must be the user's and not empty.",
    ),
  id: z.string().min(1).max(200).optional(),
});

export type ChatRequest = z.output<typeof chatSchema>;
export type ChatMessage = ChatRequest['messages'][number];
