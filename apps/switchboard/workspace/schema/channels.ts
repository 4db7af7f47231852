import { nameOnSurface } from '@trunkline/accounts';
import { z } from 'zod';

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
  /** What its words were drawn from beyond the operator's trust, where an agent reported it. */
  origins: z.array(z.strictObject({ kind: z.string(), source: z.string() })).optional(),
  /** Who reported it, unless the operator or a service did: there is a bound on what each may report. */
  reportedBy: z.string().optional(),
});

/** `incidents.yaml`. */
export const incidentsSchema = z
  .strictObject({ incidents: z.array(incidentSchema).default([]) })
  .default({ incidents: [] });

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

/** `approvers.yaml`: who may approve on a surface what agents want to run, beside the operator. */
export function approversSchema(surfaces: readonly string[]) {
  const approver = z
    .string()
    // Accounts name the product, "discord:1"; here it is the surface, "chat:1".
    .overwrite(nameOnSurface)
    .regex(
      new RegExp(`^(${surfaces.join('|')}):\\S{1,200}$`),
      'the surface and the id of the user, such as chat:123456789012345678',
    );
  return z.strictObject({ approvers: z.array(approver).default([]) }).default({ approvers: [] });
}

const channelSchema = z
  .strictObject({
    id: z.string().min(1),
    platform: z.string(),
    channelId: z.string().min(1),
    agent: z.string().optional(),
    project: z.string().optional(),
    kind: z.string().optional(),
    description: z.string().optional(),
    /**
     * Everybody who can write in the channel, now or later, counts as a member of the installation there and uses all
     * tools of its agents, those with effects too. Left out: whoever is not paired stays a guest.
     */
    trustMembers: z.boolean().optional(),
    conversation: z
      .strictObject({
        enabled: z.boolean(),
        timeoutMs: z.number().int().positive(),
        requireMentionAfterFirst: z.boolean().default(false),
      })
      .optional(),
  })
  .superRefine(({ project, kind }, context) => {
    if ((project === undefined) === (kind === undefined)) return;
    const path = [project === undefined ? 'kind' : 'project'];
    context.addIssue({ code: 'custom', path, message: 'project and kind go together' });
  });

/** `channels.yaml`: which agent a channel belongs to, and which channel a project uses for what. */
export function channelsSchema(surfaces: readonly string[]) {
  const channel = channelSchema.safeExtend({ platform: z.enum(surfaces) });
  return z
    .strictObject({ channels: z.array(channel).superRefine(eachOnce).default([]) })
    .default({ channels: [] });
}

export type Channel = z.output<typeof channelSchema>;

function eachOnce(channels: readonly { id: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  channels.forEach(({ id }, index) => {
    const message = `the channel ${id} stands twice`;
    if (seen.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message });
    seen.add(id);
  });
}

export type FleetFile = z.output<typeof fleetSchema>;

export type Incident = z.output<typeof incidentSchema>;
