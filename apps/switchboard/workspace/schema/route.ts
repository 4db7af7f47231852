import { z } from 'zod';
import { answerTopic, entryName, trigger } from './names.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** `routes.d/<name>.yaml`: messages of a topic become requests for a skill. */
export const routeSchema = z.strictObject({
  name: entryName,
  description: z.string().optional(),
  when: z.strictObject({
    topic: trigger,
    /** Fields of the payload by their path (`issue.state`) and the value each must have. */
    match: z.record(z.string(), scalar).default({}),
  }),
  // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
  then: z.strictObject({
    skill: z.string().min(1),
    agent: z.string().optional(),
    /** Where the answer goes, when the message names no place itself. */
    topic: answerTopic.optional(),
  }),
  enabled: z.boolean().default(true),
});

export type Route = z.output<typeof routeSchema>;
