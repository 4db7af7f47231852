import { parseSchedule } from '@trunkline/schedule';
import { z } from 'zod';
import { entryName, passes } from './names.ts';

/** `ceremonies/<id>.yaml`: a skill that agents perform at set times, in UTC. */
export const ceremonySchema = z.strictObject({
  id: entryName,
  name: z.string().min(1),
  description: z.string().optional(),
  schedule: z.string().superRefine(passes(checkCron)),
  skill: z.string().min(1),
  /** Agents that perform it; none: whoever the router finds. */
  targets: z.array(z.string().min(1)).default([]),
  /** The chat channel that hears of it; empty: none. */
  notifyChannel: z.string().default(''),
  enabled: z.boolean().default(true),
});

export type Ceremony = z.output<typeof ceremonySchema>;

function checkCron(text: string): void {
  if (parseSchedule(text, { timezone: 'UTC' }).type !== 'cron')
    throw new Error(`expected five fields of a cron expression, found ${text}`);
}
