import { cardTrustFields } from '@trunkline/a2a';
import { sandboxSettings } from '@trunkline/sandbox';
import { z } from 'zod';

const seconds = z.number().positive();

const modelSection = z.strictObject({
  name: z.string().default(''),
  api_base: z
    .string()
    .refine(
      (text) => text === '' || (/^https?:\/\//i.test(text) && URL.canParse(text)),
      'expected an address that starts with http:// or https://',
    )
    .default(''),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  /** What people may choose for a chat besides the configured model: names at its endpoint, `helper` and `judge`. */
  choices: z.array(z.string().min(1).max(200)).max(100).default([]),
  /** Dollars for a million tokens, by model name. */
  prices: z
    .record(
      z.string(),
      z.strictObject({
        input: z.number().nonnegative(),
        output: z.number().nonnegative(),
        cachedInput: z.number().nonnegative().optional(),
      }),
    )
    .default({}),
});

/** A helper that the agent may hand a part of its work to. */
const subagentSection = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]+$/, 'use letters, digits, _ and - only'),
  description: z.string(),
  instructions: z.string().default(''),
  /** Names of the tools it gets; all that a subagent may have when left out. */
  tools: z.array(z.string()).optional(),
  model: z.string().optional(),
  steps: z.int().positive().max(100).default(10),
});

const middlewareSection = z.strictObject({
  knowledge: z.boolean().default(true),
  audit: z.boolean().default(true),
  memory: z.boolean().default(true),
  scheduler: z.boolean().default(true),
});

/** What one turn may use up at most. */
const budgetSection = z.strictObject({
  tokens: z.int().positive().optional(),
  cost_usd: z.number().positive().optional(),
  steps: z.int().positive().max(500).default(25),
  /** Longest silence of the model; where it is left out, as long as the model may take to begin (15 minutes at least). */
  turn_timeout_s: seconds.optional(),
  tool_timeout_s: seconds.default(120),
});

const skillSection = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()).default([]),
  examples: z.array(z.string()).default([]),
});

/** A program that speaks ACP, and what it may do there. */
const agentProcess = {
  args: z.array(z.string()).default([]),
  workdir: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  permissions: z.enum(['auto', 'allowlist', 'readonly']).default('readonly'),
  allow_kinds: z.array(z.string()).default([]),
  deny_kinds: z.array(z.string()).default([]),
  sandbox: sandboxSettings.optional(),
};

const codingAgentSection = z.strictObject({
  ...agentProcess,
  name: z.string().min(1),
  command: z.string().min(1),
  timeout_s: seconds.default(600),
  confirm: z.boolean().default(false),
});

const delegateSection = z
  .strictObject({
    ...agentProcess,
    enabled: z.boolean().default(true),
    name: z.string().min(1),
    type: z.enum(['a2a', 'compat', 'acp']),
    description: z.string().default(''),
    url: z.url({ protocol: /^https?$/ }).optional(),
    token: z.string().optional(),
    /** For `a2a`: the skill to ask for, and whose card is believed. */
    skill: z.string().optional(),
    ...cardTrustFields,
    /** For `compat`. */
    model: z.string().optional(),
    /** For `acp`. */
    command: z.string().optional(),
    timeout_s: seconds.default(300),
  })
  .superRefine(({ type, url, model, command }, context) => {
    const missing = [
      type !== 'acp' && !url && 'url',
      type === 'compat' && !model && 'model',
      type === 'acp' && !command && 'command',
    ].filter((field) => field !== false);
    for (const field of missing) {
      context.addIssue({ code: 'custom', path: [field], message: `a delegate of type ${type} needs it` });
    }
  });

export const mcpServerSection = z.strictObject({
  enabled: z.boolean().default(true),
  name: z.string().regex(/^[A-Za-z0-9_-]+$/, 'use letters, digits, _ and - only'),
  /** Without it: `stdio` for a command, `http` for a url. `sse` is the older transport over HTTP. */
  transport: z.enum(['stdio', 'http', 'sse']).optional(),
  /** A process that speaks over standard input and output. */
  command: z.string().optional(),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  sandbox: sandboxSettings.optional(),
  /** Or an address. */
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).default({}),
  timeout_s: seconds.default(60),
  /** Believes what the server says of its tools: those that only read need no approval after outside text was read. */
  trusted: z.boolean().default(false),
  /** Lets the server use the agent's model, so often and for so long answers. */
  sampling: z
    .strictObject({
      calls_per_hour: z.int().positive().max(1000).default(20),
      max_tokens: z.int().positive().max(100_000).default(1000),
    })
    .optional(),
  /** Folders that the server is told to work in. */
  roots: z.array(z.string().startsWith('/')).max(20).optional(),
  /** Resources whose changes come into the inbox. */
  subscribe: z.array(z.string().min(1)).max(50).default([]),
  /** For sign-in at servers that let no client register itself. */
  oauth: z
    .strictObject({
      client_id: z.string().min(1),
      client_secret: z.string().optional(),
      scope: z.string().optional(),
    })
    .optional(),
});

/** The live configuration. An unknown key is an error that names it. */
export const configSchema = section(
  z.strictObject({
    model: section(modelSection),
    subagents: z.array(subagentSection).default([]),
    middleware: section(middlewareSection),
    budget: section(budgetSection),
    knowledge: section(
      z.strictObject({
        db_path: z.string().default(''),
        top_k: z.int().min(1).max(20).default(5),
        /** `bundled`, `off`, or the name of a model at the endpoint. Else the role in models.yaml counts, and without one `bundled`. */
        embeddings: z.string().optional(),
      }),
    ),
    memory: section(
      z.strictObject({
        path: z.string().default(''),
        max_sessions: z.int().nonnegative().default(10),
        max_tokens: z.int().nonnegative().default(2000),
        /** Everybody has the operator's memories, and adds to them. */
        shared: z.boolean().default(false),
      }),
    ),
    approvals: section(
      z.strictObject({
        /** Chat identities that may approve beside the operator. */
        approvers: z.array(z.string().regex(/^chat:\S+$/, 'expected chat:<user id>')).default([]),
      }),
    ),
    skills: section(z.strictObject({ disabled: z.array(z.string()).default([]) })),
    compaction: section(
      z.strictObject({
        enabled: z.boolean().default(true),
        max_tokens: z.int().positive().default(60_000),
        keep_messages: z.int().positive().default(12),
      }),
    ),
    checkpoint: section(z.strictObject({ keep_days: z.number().positive().default(30) })),
    routing: section(
      z.strictObject({ aux_model: z.string().default(''), fallback_models: z.array(z.string()).default([]) }),
    ),
    goal: section(
      z.strictObject({
        max_iterations: z.int().positive().default(8),
        no_progress_limit: z.int().positive().default(3),
      }),
    ),
    tools: section(z.strictObject({ disabled: z.array(z.string()).default([]) })),
    mcp: section(
      z.strictObject({ servers: z.array(mcpServerSection).default([]), serve: z.boolean().default(true) }),
    ),
    plugins: section(
      z.strictObject({ enabled: z.array(z.string()).default([]), disabled: z.array(z.string()).default([]) }),
    ),
    identity: section(
      z.strictObject({
        name: z.string().default(''),
        operator: z.string().default(''),
        persona: z.string().default(''),
      }),
    ),
    a2a: section(
      z.strictObject({ description: z.string().default(''), skills: z.array(skillSection).default([]) }),
    ),
    instance: section(z.strictObject({ id: z.string().default('') })),
    auth: section(z.strictObject({ token: z.string().default('') })),
    filesystem: section(
      z.strictObject({ enabled: z.boolean().default(true), run_command: z.boolean().default(false) }),
    ),
    egress: section(z.strictObject({ allowed_hosts: z.array(z.string()).default([]) })),
    chat: section(
      z.strictObject({
        bot_token: z.string().default(''),
        /** Senders who are not paired may talk to the agent; tools with effects are refused to them. */
        public: z.boolean().default(false),
      }),
    ),
    delegates: z.array(delegateSection).default([]),
    coding_agents: z.array(codingAgentSection).default([]),
  }),
);

export type AgentConfig = z.output<typeof configSchema>;

/** The file beside the configuration that holds what must not be shared. */
export const secretsSchema = section(
  z.strictObject({
    model: section(
      z.strictObject({
        api_key: z.string().default(''),
        /** The endpoint that the key was given for; it goes to no other. */
        api_base: z.string().default(''),
      }),
    ),
    auth: section(z.strictObject({ token: z.string().default('') })),
    chat: section(z.strictObject({ bot_token: z.string().default('') })),
    cloud: section(z.strictObject({ client_secret: z.string().default('') })),
    repo: section(z.strictObject({ token: z.string().default('') })),
  }),
);

export type AgentSecrets = z.output<typeof secretsSchema>;

/** A map that may be left out or left empty. */
function section<Schema extends z.ZodType>(schema: Schema) {
  return z
    .nullable(schema)
    .prefault({} as z.input<Schema>)
    .transform((value): z.output<Schema> => value ?? schema.parse({}));
}
