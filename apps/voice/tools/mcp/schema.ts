import { z } from 'zod';

const name = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'expected up to 32 letters, digits, - or _');
const texts = z.record(z.string(), z.string());

const remote = z.strictObject({
  name,
  transport: z.enum(['http', 'sse']),
  url: z.url(),
  headers: texts.optional(),
});
const process = z.strictObject({
  name,
  transport: z.literal('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
});

/** The file that lists MCP servers. */
export const mcpSchema = z
  .strictObject({ servers: z.array(z.discriminatedUnion('transport', [remote, process])).nullable() })
  .transform(({ servers }) => servers ?? []);

export type McpServer = z.output<typeof mcpSchema>[number];
