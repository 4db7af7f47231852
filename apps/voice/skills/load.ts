import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ConfigError, loadYaml } from '@trunkline/config';
import { resolveInside } from '@trunkline/storage';
import { isMissingFile } from '../store/files.ts';
import { inherit, type NamedFile } from './inherit.ts';
import { type SkillFile, skillFileSchema, slugPattern } from './schema.ts';
import { plainSoul, type Skill, titleOf } from './skill.ts';

export interface LoadedSkills {
  /** By slug, in the order of slugs. */
  skills: ReadonlyMap<string, Skill>;
  /** What is wrong with files that were left out. */
  problems: readonly Error[];
}

/** Reads every skill of a configuration directory; a file that cannot be used does not keep the others from loading. */
export async function loadSkills(configDirectory: string): Promise<LoadedSkills> {
  const problems: Error[] = [];
  const collect = (error: unknown) => void problems.push(asError(error));
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

// Variables are not expanded: a cloned voice's texts come from whoever uploaded it.
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
  const own = files.get(slug)?.file;
  const whole = inherit(slug, files);
  return {
    slug,
    name: own?.name ?? titleOf(slug),
    description: own?.description ?? '',
    systemPrompt: await promptOf(whole, configDirectory, soul),
    speechBackend: whole.tts_backend,
    voice: whole.voice,
    lang: whole.lang,
    temperature: whole.temperature,
    maxTokens: whole.max_tokens,
    verbosity: whole.filler_verbosity,
    tools: whole.tools,
    delegates: whole.delegates,
    behavior: whole.behavior ?? {},
    llm: whole.llm ?? {},
    viz: whole.viz ?? {},
  };
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

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
