import { ConfigError } from '@trunkline/config';
import type { SkillFile } from './schema.ts';

/** A file with the path it was read from. */
export interface NamedFile {
  slug: string;
  path: string;
  file: SkillFile;
}

const base = 'default';

/** The file of a skill with everything that it inherits, nearest first. */
export function inherit(slug: string, files: ReadonlyMap<string, NamedFile>): SkillFile {
  const chain = ancestry(slug, files);
  return chain.reduceRight<SkillFile>((above, { file }) => merge(above, file), {});
}

function ancestry(slug: string, files: ReadonlyMap<string, NamedFile>): NamedFile[] {
  const chain: NamedFile[] = [];
  let next = files.get(slug);
  while (next !== undefined) {
    if (chain.includes(next)) refuse(next, `extends leads back to ${next.slug}`);
    chain.push(next);
    next = parentOf(next, files);
  }
  return chain;
}

function parentOf(entry: NamedFile, files: ReadonlyMap<string, NamedFile>): NamedFile | undefined {
  const { slug, file } = entry;
  if (file.extends === null || (file.extends === undefined && slug === base)) return undefined;
  const parent = files.get(file.extends ?? base);
  if (parent === undefined && file.extends !== undefined)
    refuse(entry, `extends names ${file.extends}, and there is no such skill`);
  return parent;
}

/** Lists and plain values replace; `behavior`, `llm` and `viz` merge one level deep. A prompt of either kind replaces both. */
function merge(above: SkillFile, own: SkillFile): SkillFile {
  const ownPrompt = own.system_prompt !== undefined || own.system_prompt_file !== undefined;
  const { system_prompt, system_prompt_file, ...rest } = above;
  const prompts = ownPrompt ? {} : { system_prompt, system_prompt_file };
  return {
    ...rest,
    ...defined(prompts),
    ...own,
    behavior: { ...above.behavior, ...own.behavior },
    llm: { ...above.llm, ...own.llm },
    viz: { ...above.viz, ...own.viz },
  };
}

function defined<Value extends object>(
  value: Value,
): Partial<{ [Key in keyof Value]: NonNullable<Value[Key]> }> {
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries) as Partial<{ [Key in keyof Value]: NonNullable<Value[Key]> }>;
}

function refuse({ path }: NamedFile, words: string): never {
  throw new ConfigError(`${path} cannot be used:`, [`${path}: ${words}`]);
}
