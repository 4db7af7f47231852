import { interruptions } from '@trunkline/llm';
import { z } from 'zod';
import { synthesisBackends } from '../speech/backends/registry.ts';

/** Stands in for a missing SOUL.md. */
export const plainSoul = 'You are a helpful voice assistant. Answer in plain spoken sentences.';

export const verbosityLevels = ['silent', 'brief', 'narrated', 'chatty'] as const;

/** How much is said around an answer. */
export type Verbosity = (typeof verbosityLevels)[number];

const manners: Record<Verbosity, { preamble: string; reply: string }> = {
  silent: { preamble: 'Say nothing before you use a tool.', reply: '10 to 15 words' },
  brief: { preamble: 'Before you use a tool, say two to four words.', reply: '12 to 18 words' },
  narrated: {
    preamble: 'Before you use a tool, say in four to eight words what you do.',
    reply: '18 to 25 words',
  },
  chatty: {
    preamble: 'Before you use a tool, say in up to twelve words what you do.',
    reply: '25 to 40 words',
  },
};

export function isVerbosity(level: string | undefined): level is Verbosity {
  return verbosityLevels.some((known) => known === level);
}

export function verbosityInstructions(level: Verbosity): string {
  const { preamble, reply } = manners[level];
  return `${preamble} Keep a reply to about ${reply}, unless you are asked for more.`;
}

export const slugPattern = /^[a-z0-9][a-z0-9_-]{1,63}$/;

const slug = z
  .string()
  .regex(slugPattern, 'expected 2 to 64 lowercase letters, digits, hyphens or underscores');
const prompt = z.string().min(1);

/** A file of `config/skills`. What it leaves out comes from the skill it extends. */
export const skillFileSchema = z.strictObject({
  slug: slug.optional(),
  /** The user whose voice it is; nobody else is offered it. */
  owner: z.string().min(1).optional(),
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
    .strictObject({
      backchannel: z.boolean(),
      micro_ack: z.boolean(),
      bargein: z.boolean(),
      /** Said when a call begins. */
      greeting: z.string().min(1).max(500),
      /** Seconds of silence after which a caller is asked, once, whether they are still there. */
      reprompt_after: z.number().min(3).max(600),
      /** What an interruption does to running calls of a tool, by its name. */
      interruptions: z.record(z.string(), z.enum(interruptions)),
    })
    .partial()
    .optional(),
  llm: z.strictObject({ url: z.url(), model: z.string(), api_key_env: z.string() }).partial().optional(),
  viz: z
    .looseObject({ variant: z.string(), palette: z.string(), params: z.record(z.string(), z.number()) })
    .partial()
    .optional(),
});

export type SkillFile = z.output<typeof skillFileSchema>;

type Inherited = Omit<SkillFile, 'extends' | 'system_prompt' | 'system_prompt_file'>;

/** A persona after inheritance. What is undefined is left to the service; without a list all tools or delegates may be used. */
export interface Skill extends Inherited {
  slug: string;
  name: string;
  description: string;
  systemPrompt: string;
  behavior: NonNullable<SkillFile['behavior']>;
  llm: NonNullable<SkillFile['llm']>;
  viz: NonNullable<SkillFile['viz']>;
}

/** `night-chef` and `night_chef` become `Night Chef`. */
export function titleOf(slug: string): string {
  return slug
    .split(/[-_]+/)
    .filter((word) => word !== '')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
