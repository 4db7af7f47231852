import { z } from 'zod';

const common = { name: z.string().trim().min(1), description: z.string().trim().min(1), url: z.url() };

const agentSchema = z.strictObject({
  ...common,
  type: z.literal('a2a'),
  auth: z
    .strictObject({ scheme: z.enum(['apiKey', 'bearer']), credentialsEnv: z.string().min(1) })
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

const endpointSchema = z.strictObject({
  ...common,
  type: z.literal('compat'),
  model: z.string().min(1),
  api_key_env: z.string().min(1).optional(),
  max_tokens: z.int().min(1).default(400),
  temperature: z.number().min(0).max(2).default(0.4),
  system_prompt: z.string().min(1).optional(),
});

/** The file that names whom the assistant may ask. */
export const delegatesSchema = z
  .strictObject({
    delegates: z.array(z.discriminatedUnion('type', [agentSchema, endpointSchema])).nullable(),
  })
  .transform(({ delegates }) => delegates ?? [])
  .superRefine((delegates, context) => {
    const names = delegates.map(({ name }) => name);
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) < index)
        context.addIssue({ code: 'custom', path: ['delegates', index, 'name'], message: `a second ${name}` });
    }
  });

export type AgentEntry = z.output<typeof agentSchema>;
export type EndpointEntry = z.output<typeof endpointSchema>;
export type DelegateEntry = AgentEntry | EndpointEntry;
