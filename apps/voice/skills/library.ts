import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { Renewal } from '../renewal.ts';
import { loadSkills } from './load.ts';
import { plainSoul, type Skill } from './skill.ts';

const fallbackSlug = 'default';

/** The skills as they were last read whole. */
export class SkillLibrary {
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #renewal = new Renewal(() => this.#load());
  #skills: ReadonlyMap<string, Skill> = new Map();

  constructor(configDirectory: string, logger: Logger) {
    this.#directory = configDirectory;
    this.#logger = logger;
  }

  /** Loads what can be used; the rest is logged. */
  async start(): Promise<void> {
    const { skills, problems } = await loadSkills(this.#directory);
    for (const problem of problems) this.#logger.error({ reason: problem.message }, 'a skill is left out');
    this.#skills = withFallback(skills);
  }

  /** Reads everything anew, or throws and keeps what was loaded. */
  reload(): Promise<void> {
    return this.#renewal.run();
  }

  get slugs(): string[] {
    return [...this.#skills.keys()];
  }

  get all(): Skill[] {
    return [...this.#skills.values()];
  }

  find(slug: string): Skill | undefined {
    return this.#skills.get(slug);
  }

  /** The skill as its file has it; undefined for the one that stands in where there is no file at all. */
  findFile(slug: string): Skill | undefined {
    const skill = this.find(slug);
    return skill === plainSkill ? undefined : skill;
  }

  /** Where the file of a skill is looked for. */
  pathOf(slug: string): string {
    return join(this.#directory, 'skills', `${slug}.yaml`);
  }

  /** The skill of those who have chosen none. */
  get base(): Skill {
    const skill = this.#skills.get(fallbackSlug) ?? this.#skills.values().next().value;
    return skill ?? plainSkill;
  }

  async #load(): Promise<void> {
    const { skills, problems } = await loadSkills(this.#directory);
    const [problem] = problems;
    if (problem !== undefined) throw problem;
    this.#skills = withFallback(skills);
  }
}

const plainSkill: Skill = {
  slug: fallbackSlug,
  name: 'Default',
  description: 'A plain assistant, because no skill file was found.',
  systemPrompt: plainSoul,
  speechBackend: undefined,
  voice: undefined,
  lang: undefined,
  temperature: undefined,
  maxTokens: undefined,
  verbosity: undefined,
  tools: undefined,
  delegates: undefined,
  behavior: {},
  llm: {},
  viz: {},
};

function withFallback(skills: ReadonlyMap<string, Skill>): ReadonlyMap<string, Skill> {
  return skills.size > 0 ? skills : new Map([[plainSkill.slug, plainSkill]]);
}
