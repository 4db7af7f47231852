import { z } from 'zod';
import { entryName } from './names.ts';

const head = {
  name: entryName,
  trust: z.enum(['builtin', 'trusted', 'community']),
  grants: z.array(z.string()).optional(),
  allowedTools: z.array(z.string()).optional(),
  excludeTools: z.array(z.string()).optional(),
  enabled: z.boolean().optional(),
};

const address = {
  url: z.url({ protocol: /^https?$/ }),
  /** Sent with every request: where a key goes. */
  headers: z.record(z.string(), z.string()).default({}),
};

/** `mcp-servers.d/<name>.yaml`: a server whose tools become skills. */
export const mcpServerSchema = z.discriminatedUnion('transport', [
  z.strictObject({
    ...head,
    transport: z.literal('stdio'),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
  }),
  z.strictObject({ ...head, ...address, transport: z.literal('sse') }),
  z.strictObject({ ...head, ...address, transport: z.literal('http') }),
]);

export type McpServer = z.output<typeof mcpServerSchema>;
