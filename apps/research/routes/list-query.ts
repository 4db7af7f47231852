import { z } from 'zod';

/** What a list of past work can be asked for. */
export const listSchema = z.object({
  q: z.string().max(200).default(''),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
