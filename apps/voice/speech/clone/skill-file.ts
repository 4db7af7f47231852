import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';
import { stringify } from 'yaml';

export interface ClonedSkill {
  slug: string;
  name: string;
  description: string;
}

/** Writes the file of a skill that speaks with a cloned voice and shares SOUL.md. */
export async function writeClonedSkill(configDirectory: string, skill: ClonedSkill): Promise<void> {
  const { slug, name, description } = skill;
  const file = {
    slug,
    name,
    description,
    system_prompt_file: 'SOUL.md',
    tts_backend: 'sidecar',
    voice: slug,
  };
  await writeFileAtomic(pathOf(configDirectory, slug), stringify(file));
}

/** Also one that is broken, or was put there since the skills were read. */
export function hasSkillFile(configDirectory: string, slug: string): boolean {
  return ['yaml', 'yml'].some((ending) => existsSync(join(configDirectory, 'skills', `${slug}.${ending}`)));
}

export function removeClonedSkill(configDirectory: string, slug: string): Promise<void> {
  return rm(pathOf(configDirectory, slug), { force: true });
}

function pathOf(configDirectory: string, slug: string): string {
  return join(configDirectory, 'skills', `${slug}.yaml`);
}
