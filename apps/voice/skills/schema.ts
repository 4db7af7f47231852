import { z } from 'zod';
import { synthesisBackends } from '../speech/backends/registry.ts';
import { verbosityLevels } from './verbosity.ts';

export const slugPattern = /^[a-z0-9][a-z0-9_-]{1,63}$/;

const slug = z
  .string()
  .regex(slugPattern, 'expected 2 to 64 lowercase letters, digits, hyphens or underscores');
const prompt = z.string().min(1);

/** One file of `config/skills`. What is left out comes from the skill it extends. */
export const skillFileSchema = z.strictObject({
  slug: slug.optional(),
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  extends: z.string().nullable().optional(),
  system_prompt: prompt.optional(),
  system_prompt_file: prompt.optional(),
  tts_backend: z.enum(synthesisBackends).optional(),
  voice: z.string().min(1).optional(),
  lang: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).optional(),
  filler_verbosity: z.enum(verbosityLevels).optional(),
  tools: z.array(z.string()).optional(),
  delegates: z.array(z.string()).optional(),
  behavior: z
    .strictObject({ backchannel: z.boolean(), micro_ack: z.boolean(), bargein: z.boolean() })
    .partial()
    .optional(),
  llm: z.strictObject({ url: z.url(), model: z.string(), api_key_env: z.string() }).partial().optional(),
  viz: z
    .looseObject({ variant: z.string(), palette: z.string(), params: z.record(z.string(), z.number()) })
    .partial()
    .optional(),
});

export type SkillFile = z.output<typeof skillFileSchema>;
