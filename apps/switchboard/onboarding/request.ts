import { z } from 'zod';

const channel = z.string().optional();

/** What is asked for when a project is brought online. */
export const onboardSchema = z.object({
  slug: z
    .string('slug is required')
    .regex(/^[a-z0-9][a-z0-9._-]{0,99}$/i, 'slug must be letters, digits, dots, hyphens or underscores'),
  title: z.string('title is required').trim().min(1, 'title is required').max(200),
  github: z
    .string('github is required')
    .regex(/^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/, 'github must have the form owner/repo'),
  defaultBranch: z.string().min(1).default('main'),
  team: z.string().min(1).default('dev'),
  agents: z.array(z.string().min(1)).optional(),
  discord: z
    .object({ general: channel, updates: channel, dev: channel, alerts: channel, releases: channel })
    .default({}),
});

export type OnboardRequest = z.output<typeof onboardSchema> & { agents: string[] };
