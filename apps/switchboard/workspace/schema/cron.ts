import { parseSchedule } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { passes, scheduleId, topic } from './names.ts';

const payload = z
  .looseObject({
    content: z.string().min(1),
    sender: z.string().min(1).default('cron'),
    /** `cli`, `messenger`, `a2a`, or the id of a chat channel. */
    channel: z.string().min(1).default('cli'),
    skillHint: z.string().min(1).optional(),
    /** For the channel `a2a`: a target of `a2a.yaml`. */
    agent_name: z.string().min(1).optional(),
    scheduler_job_id: z.string().min(1).optional(),
    /** What the content was drawn from beyond the operator's trust: its runs ask before effects. */
    origins: z.array(z.looseObject({ kind: z.string(), source: z.string() })).optional(),
  })
  .superRefine(({ channel, agent_name }, context) => {
    if (channel !== 'a2a' || agent_name !== undefined) return;
    const message = 'the channel a2a needs agent_name, a target of a2a.yaml';
    context.addIssue({ code: 'custom', path: ['agent_name'], message });
  });

/** `crons/<id>.yaml`: a message at a time, or at many. */
export const cronSchema = z
  .strictObject({
    id: scheduleId,
    type: z.enum(['cron', 'once']).optional(),
    schedule: z.string().min(1),
    timezone: z
      .string()
      .superRefine(passes((zone) => parseSchedule('0 0 * * *', { timezone: zone })))
      .optional(),
    topic,
    payload,
    enabled: z.boolean().default(true),
    /** The scoped key that owns it; only it and the operator may change it. */
    owner: z.string().min(1).optional(),
    lastFired: z.iso.datetime({ offset: true }).optional(),
    overlap: z.enum(['skip', 'queue', 'allow']).default('skip'),
    jitterMs: z.int().min(0).max(3_600_000).default(0),
  })
  .superRefine(({ schedule, timezone, type }, context) => {
    const path = ['schedule'];
    try {
      const parsed = parseSchedule(schedule, timezone === undefined ? {} : { timezone });
      if (type === undefined || type === parsed.type) return;
      const message = `the type is ${type}, but ${schedule} is of the type ${parsed.type}`;
      context.addIssue({ code: 'custom', path: ['type'], message });
    } catch (error) {
      const message = errorMessage(error);
      context.addIssue({ code: 'custom', path, message });
    }
  });

export type CronRecord = z.output<typeof cronSchema>;
