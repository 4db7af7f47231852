import { z } from 'zod';

const channelSchema = z
  .strictObject({
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
  })
  .superRefine(({ project, kind }, context) => {
    if ((project === undefined) === (kind === undefined)) return;
    const path = [project === undefined ? 'kind' : 'project'];
    context.addIssue({ code: 'custom', path, message: 'project and kind go together' });
  });

/** `channels.yaml`: which agent a channel belongs to, and which channel a project uses for what. */
export const channelsSchema = z
  .strictObject({ channels: z.array(channelSchema).superRefine(eachOnce).default([]) })
  .default({ channels: [] });

export type Channel = z.output<typeof channelSchema>;

function eachOnce(channels: readonly { id: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  channels.forEach(({ id }, index) => {
    const message = `the channel ${id} stands twice`;
    if (seen.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message });
    seen.add(id);
  });
}
