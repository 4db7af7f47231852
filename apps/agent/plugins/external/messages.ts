import { z } from 'zod';

const toolHead = z.object({
  name: z.string().min(1),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});

const fetchRequest = z.object({
  method: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});

/** What a plugin's process may say; it is not trusted, so everything else is left out. */
export const fromPlugin = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), tools: z.array(toolHead).max(100) }),
  z.object({ type: z.literal('failed'), error: z.string() }),
  z.object({
    type: z.literal('call-end'),
    id: z.number(),
    text: z.string().optional(),
    error: z.string().optional(),
  }),
  z.object({ type: z.literal('fetch-start'), id: z.number(), url: z.string(), request: fetchRequest }),
]);

export type FromPlugin = z.output<typeof fromPlugin>;
export type PluginToolHead = z.output<typeof toolHead>;

export interface FetchedResponse {
  status: number;
  contentType: string;
  text: string;
}

/** What the service says to it. */
export type ToPlugin =
  | { type: 'call'; id: number; tool: string; input: unknown }
  | { type: 'fetch-end'; id: number; response?: FetchedResponse; error?: string };
