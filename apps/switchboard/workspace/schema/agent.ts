import { sandboxSettings } from '@trunkline/sandbox';
import { parseSchedule } from '@trunkline/schedule';
import { z } from 'zod';
import { agentPattern, answerTopic, entryName, passes, trigger } from './names.ts';

/** `ceremonies/<id>.yaml`: a skill that agents perform at set times, in UTC. */
export const ceremonySchema = z.strictObject({
  id: entryName,
  name: z.string().min(1),
  description: z.string().optional(),
  schedule: z.string().superRefine(passes(checkCron)),
  skill: z.string().min(1),
  /** None: the router decides. */
  targets: z.array(z.string().min(1)).default([]),
  /** Chat channel for the result. */
  notifyChannel: z.string().default(''),
  enabled: z.boolean().default(true),
});

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** `routes.d/<name>.yaml`: messages of a topic become requests for a skill. */
export const routeSchema = z.strictObject({
  name: entryName,
  description: z.string().optional(),
  when: z.strictObject({
    topic: trigger,
    /** Payload paths (`issue.state`) and the value each must have. */
    match: z.record(z.string(), scalar).default({}),
  }),
  // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
  then: z.strictObject({
    skill: z.string().min(1),
    agent: z.string().optional(),
    /** Reply topic of messages that name none. */
    topic: answerTopic.optional(),
  }),
  /** Of several routes for a message the higher runs first. */
  priority: z.int().min(-1000).max(1000).default(0),
  /** No further route runs. Not set: the first takes a message of a sender, and all run for other topics. */
  stop: z.boolean().optional(),
  enabled: z.boolean().default(true),
});

const head = {
  name: entryName,
  trust: z.enum(['builtin', 'trusted', 'community']),
  grants: z.array(z.string()).optional(),
  allowedTools: z.array(z.string()).optional(),
  excludeTools: z.array(z.string()).optional(),
  enabled: z.boolean().optional(),
  /** Lets the server use our model. */
  sampling: z
    .strictObject({
      callsPerHour: z.int().min(1).max(1000).default(20),
      maxTokens: z.int().min(1).max(100_000).default(1000),
    })
    .optional(),
};

const address = {
  url: z.url({ protocol: /^https?$/ }),
  /** For keys. */
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
    sandbox: sandboxSettings.optional(),
  }),
  z.strictObject({ ...head, ...address, transport: z.literal('sse') }),
  z.strictObject({ ...head, ...address, transport: z.literal('http') }),
]);

const agentTools = [
  'publish_event',
  'get_projects',
  'get_incidents',
  'report_incident',
  'get_ceremonies',
  'run_ceremony',
] as const;

const skillSchema = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  /** Case-insensitive substrings that select this skill. */
  keywords: z.array(z.string().min(1)).default([]),
  systemPromptOverride: z.string().optional(),
});

/** `agents/<name>.yaml`: an agent that runs in this process. */
export const agentSchema = z
  .strictObject({
    name: entryName,
    role: z.enum(['orchestrator', 'qa', 'devops', 'content', 'research', 'general']),
    /** Default: the gateway's model. */
    model: z.string().min(1).optional(),
    systemPrompt: z.string(),
    tools: z.array(z.enum(agentTools)).default([]),
    /** Topics for publish_event; none by default. */
    publishes: z.array(agentPattern).default([]),
    /** Enables run_command; each run needs an approval. */
    runCommand: z.boolean().default(false),
    canDelegate: z.array(entryName).default([]),
    /** Model calls in one turn; -1: no limit. */
    maxTurns: z.union([z.literal(-1), z.int().min(1)]).default(20),
    chatBotTokenEnvKey: z.string().min(1).optional(),
    /** Senders who are not paired may talk to it. */
    public: z.boolean().default(false),
    skills: z.array(skillSchema).default([]),
  })
  .superRefine(({ role, canDelegate }, context) => {
    if (role === 'orchestrator' || canDelegate.length === 0) return;
    const message = `only an orchestrator may delegate, and this agent's role is ${role}`;
    context.addIssue({ code: 'custom', path: ['canDelegate'], message });
  });

export type AgentDefinition = z.output<typeof agentSchema>;

export type McpServer = z.output<typeof mcpServerSchema>;

export type Route = z.output<typeof routeSchema>;

export type Ceremony = z.output<typeof ceremonySchema>;

function checkCron(text: string): void {
  if (parseSchedule(text, { timezone: 'UTC' }).type !== 'cron')
    throw new Error(`expected five fields of a cron expression, found ${text}`);
}
