import { checkPattern, checkTopic, matchesTopic } from '@trunkline/bus';
import { z } from 'zod';
import { entryName } from './agent-schema.ts';

const channelSchema = z.strictObject({
  id: z.string().min(1),
  platform: z.enum(['chat', 'tracker', 'cloud']),
  channelId: z.string().min(1),
  agent: z.string().optional(),
  project: z.string().optional(),
  kind: z.string().optional(),
  description: z.string().optional(),
  conversation: z
    .strictObject({
      enabled: z.boolean(),
      timeoutMs: z.number().int().positive(),
      requireMentionAfterFirst: z.boolean().default(false),
    })
    .optional(),
});

/** `channels.yaml`: which agent a channel belongs to, and which channel a project uses for what. */
export const channelsSchema = z
  .strictObject({ channels: z.array(channelSchema).default([]) })
  .default({ channels: [] });

const roles = z
  .strictObject({ helm: z.string().min(1).default('helm'), reviewer: z.string().min(1).default('reviewer') })
  .prefault({});

/** `fleet.yaml`: who takes what is addressed to nobody, and who reviews. */
export const fleetSchema = z
  .strictObject({
    roles,
    codehost: z.strictObject({ reviewerBotLogins: z.array(z.string()).default([]) }).prefault({}),
  })
  .prefault({});

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** `routes.d/<name>.yaml`: messages of a topic become requests for a skill. */
export const routeSchema = z.strictObject({
  name: entryName,
  description: z.string().optional(),
  when: z.strictObject({
    topic: z.string().superRefine(checkTrigger),
    /** Fields of the payload by their path (`issue.state`) and the value each must have. */
    match: z.record(z.string(), scalar).default({}),
  }),
  // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
  then: z.strictObject({
    skill: z.string().min(1),
    agent: z.string().optional(),
    /** Where the answer goes, when the message names no place itself. */
    topic: z.string().superRefine(checked(checkTopic)).optional(),
  }),
  enabled: z.boolean().default(true),
});

const serverHead = {
  name: entryName,
  trust: z.enum(['builtin', 'trusted', 'community']),
  grants: z.array(z.string()).optional(),
  allowedTools: z.array(z.string()).optional(),
  excludeTools: z.array(z.string()).optional(),
  enabled: z.boolean().optional(),
};

/** `mcp-servers.d/<name>.yaml`: a server whose tools become skills. */
export const mcpServerSchema = z.discriminatedUnion('transport', [
  z.strictObject({
    ...serverHead,
    transport: z.literal('stdio'),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
  }),
  z.strictObject({ ...serverHead, transport: z.literal('sse'), url: z.url({ protocol: /^https?$/ }) }),
]);

export const severities = ['critical', 'high', 'medium', 'low'] as const;

const incidentSchema = z.strictObject({
  id: z.string().regex(/^INC-\d{3,}$/, 'expected INC- and a number of three digits or more'),
  title: z.string().min(1),
  severity: z.enum(severities),
  status: z.enum(['open', 'investigating', 'resolved']),
  reportedAt: z.string(),
  description: z.string().optional(),
  affectedProjects: z.array(z.string()).optional(),
  assignee: z.string().optional(),
  resolvedAt: z.string().optional(),
  resolutionNote: z.string().optional(),
});

export const incidentsSchema = z
  .strictObject({ incidents: z.array(incidentSchema).default([]) })
  .default({ incidents: [] });

export type Channel = z.output<typeof channelSchema>;
export type FleetFile = z.output<typeof fleetSchema>;
export type Route = z.output<typeof routeSchema>;
export type McpServer = z.output<typeof mcpServerSchema>;
export type Incident = z.output<typeof incidentSchema>;

/** A route on what it makes itself would never end. */
function checkTrigger(topic: string, context: z.RefinementCtx): void {
  checked(checkPattern)(topic, context);
  if (context.issues.length === 0 && matchesTopic(topic, 'agent.skill.request')) {
    const message = `${topic} takes in agent.skill.request, which routes themselves publish; choose a narrower topic`;
    context.addIssue({ code: 'custom', message });
  }
}

function checked(check: (text: unknown) => void) {
  return (text: string, context: z.RefinementCtx) => {
    try {
      check(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    }
  };
}
