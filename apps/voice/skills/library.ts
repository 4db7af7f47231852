import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ConfigError, type Logger, loadYaml } from '@trunkline/config';
import { toError } from '@trunkline/std';
import { resolveInside, writeFileAtomic } from '@trunkline/storage';
import { isMissingFile, Reloader } from '../store/reload.ts';
import { plainSoul, type Skill, type SkillFile, skillFileSchema, slugPattern, titleOf } from './skill.ts';

/** The skill that others extend, and that answers users who have chosen none. */
const baseSlug = 'default';

/** The skills as they were last loaded. */
export class SkillLibrary {
  readonly #directory: string;
  readonly #logger: Logger;
  readonly #reloader = new Reloader(() => this.#load());
  #skills: ReadonlyMap<string, Skill> = new Map();

  constructor(configDirectory: string, logger: Logger) {
    this.#directory = configDirectory;
    this.#logger = logger;
  }

  /** Loads what can be used; the rest is logged. */
  async start(): Promise<void> {
    const { skills, problems } = await loadSkills(this.#directory);
    for (const problem of problems) this.#logger.error({ reason: problem.message }, 'failed to load skill');
    this.#skills = withFallback(skills);
  }

  /** Reloads everything, or throws and keeps what was loaded. */
  reload(): Promise<void> {
    return this.#reloader.run();
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

  /** The skill as its file has it; undefined for the built-in one, used where there is no file at all. */
  findFile(slug: string): Skill | undefined {
    const skill = this.find(slug);
    return skill === plainSkill ? undefined : skill;
  }

  pathOf(slug: string): string {
    return join(this.#directory, 'skills', `${slug}.yaml`);
  }

  /** Answers users who have chosen none. */
  get base(): Skill {
    const skill = this.#skills.get(baseSlug) ?? this.#skills.values().next().value;
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
  slug: baseSlug,
  name: 'Default',
  description: 'A plain assistant, because no skill file was found.',
  systemPrompt: plainSoul,
  behavior: {},
  llm: {},
  viz: {},
};

function withFallback(skills: ReadonlyMap<string, Skill>): ReadonlyMap<string, Skill> {
  return skills.size > 0 ? skills : new Map([[plainSkill.slug, plainSkill]]);
}

interface LoadedSkills {
  /** By slug, sorted. */
  skills: ReadonlyMap<string, Skill>;
  /** Why files were left out. */
  problems: readonly Error[];
}

/** Loads every skill of a configuration directory; a broken file does not affect the others. */
export async function loadSkills(configDirectory: string): Promise<LoadedSkills> {
  const problems: Error[] = [];
  const collect = (error: unknown) => void problems.push(toError(error));
  const files = await readFiles(join(configDirectory, 'skills'), collect);
  const soul = (await readText(join(configDirectory, 'SOUL.md'))) ?? plainSoul;
  const skills = new Map<string, Skill>();
  for (const slug of [...files.keys()].sort()) {
    try {
      skills.set(slug, await resolveSkill(slug, files, configDirectory, soul));
    } catch (error) {
      collect(error);
    }
  }
  return { skills, problems };
}

async function readFiles(
  directory: string,
  collect: (error: unknown) => void,
): Promise<Map<string, NamedFile>> {
  const files = new Map<string, NamedFile>();
  for (const name of await yamlFiles(directory)) {
    try {
      const entry = await readSkillFile(join(directory, name));
      const other = files.get(entry.slug);
      if (other !== undefined) throw unusable(entry.path, `the slug ${entry.slug} is taken by ${other.path}`);
      files.set(entry.slug, entry);
    } catch (error) {
      collect(error);
    }
  }
  return files;
}

async function yamlFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (isMissingFile(error)) return [];
    throw error;
  });
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name) && !/\.example\.ya?ml$/.test(name)).sort();
}

// Does not expand variables, as uploaders write the texts of cloned voices.
async function readSkillFile(path: string): Promise<NamedFile> {
  const file = await loadYaml(path, skillFileSchema, { expand: false });
  const slug = file.slug ?? basename(path).replace(/\.ya?ml$/, '');
  if (!slugPattern.test(slug)) throw unusable(path, `${slug} is no slug: rename the file or give a slug`);
  return { slug, path, file };
}

async function resolveSkill(
  slug: string,
  files: ReadonlyMap<string, NamedFile>,
  configDirectory: string,
  soul: string,
): Promise<Skill> {
  const { name = titleOf(slug), description = '' } = files.get(slug)?.file ?? {};
  const whole = inherit(slug, files);
  const systemPrompt = await promptOf(whole, configDirectory, soul);
  return { ...whole, slug, name, description, systemPrompt };
}

async function promptOf(file: SkillFile, configDirectory: string, soul: string): Promise<string> {
  if (file.system_prompt !== undefined) return file.system_prompt;
  if (file.system_prompt_file === undefined) return soul;
  const path = resolveInside(configDirectory, file.system_prompt_file);
  const text = await readText(path);
  if (text === undefined) throw unusable(path, 'a skill names this file as its prompt, and there is none');
  return text;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw error;
  }
}

function unusable(path: string, words: string): ConfigError {
  return new ConfigError(`${path} cannot be used:`, [`${path}: ${words}`]);
}

interface NamedFile {
  slug: string;
  path: string;
  file: SkillFile;
}

/** A skill's file merged with what it inherits. */
function inherit(slug: string, files: ReadonlyMap<string, NamedFile>) {
  const nothing = { behavior: {}, llm: {}, viz: {} };
  return ancestry(slug, files).reduceRight((above, { file }) => merge(above, file), nothing);
}

function ancestry(slug: string, files: ReadonlyMap<string, NamedFile>): NamedFile[] {
  const chain: NamedFile[] = [];
  let next = files.get(slug);
  while (next !== undefined) {
    if (chain.includes(next)) throw unusable(next.path, `extends leads back to ${next.slug}`);
    chain.push(next);
    next = parentOf(next, files);
  }
  return chain;
}

function parentOf(entry: NamedFile, files: ReadonlyMap<string, NamedFile>): NamedFile | undefined {
  const { slug, file } = entry;
  if (file.extends === null || (file.extends === undefined && slug === baseSlug)) return undefined;
  const parent = files.get(file.extends ?? baseSlug);
  if (parent === undefined && file.extends !== undefined)
    throw unusable(entry.path, `extends names ${file.extends}, and there is no such skill`);
  return parent;
}

/** Lists and plain values replace; `behavior`, `llm` and `viz` merge one level deep. A prompt of either kind replaces both. */
function merge(above: SkillFile, own: SkillFile) {
  const hasPrompt = own.system_prompt !== undefined || own.system_prompt_file !== undefined;
  const { system_prompt: _text, system_prompt_file: _file, ...rest } = above;
  return {
    ...(hasPrompt ? rest : above),
    ...own,
    behavior: { ...above.behavior, ...own.behavior },
    llm: { ...above.llm, ...own.llm },
    viz: { ...above.viz, ...own.viz },
  };
}

const examples = join(import.meta.dirname, 'examples');

/** Copies examples to where a configuration directory lacks them; existing files stay as they are. */
export async function seedConfig(directory: string): Promise<void> {
  const skills = existsSync(join(directory, 'skills')) ? [] : ['skills/default.yaml', 'skills/chef.yaml'];
  for (const path of ['SOUL.md', ...skills, 'delegates.example.yaml', 'users.example.yaml']) {
    const target = join(directory, path);
    if (!existsSync(target)) await writeFileAtomic(target, await readFile(join(examples, path), 'utf8'));
  }
}
