import type { SkillFile } from './schema.ts';
import type { Verbosity } from './verbosity.ts';

/** A persona as it is after inheritance. */
export interface Skill {
  slug: string;
  name: string;
  description: string;
  systemPrompt: string;
  /** Undefined: the service's own backend, voice and language. */
  speechBackend: string | undefined;
  voice: string | undefined;
  lang: string | undefined;
  /** Undefined: what the service is set to. */
  temperature: number | undefined;
  maxTokens: number | undefined;
  verbosity: Verbosity | undefined;
  /** Names of tools that may be used; undefined: all. */
  tools: readonly string[] | undefined;
  /** Names of delegates that may be asked; undefined: all. */
  delegates: readonly string[] | undefined;
  behavior: NonNullable<SkillFile['behavior']>;
  llm: NonNullable<SkillFile['llm']>;
  viz: NonNullable<SkillFile['viz']>;
}

/** Speaks for a service that has no SOUL.md. */
export const plainSoul = 'You are a helpful voice assistant. Answer in plain spoken sentences.';

/** `night-chef` and `night_chef` become `Night Chef`. */
export function titleOf(slug: string): string {
  return slug
    .split(/[-_]+/)
    .filter((word) => word !== '')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ');
}
