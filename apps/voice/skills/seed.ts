import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';

const examples = join(import.meta.dirname, 'examples');

/** Copies examples to where a configuration directory lacks them; existing files stay as they are. */
export async function seedConfig(directory: string): Promise<void> {
  const skills = existsSync(join(directory, 'skills')) ? [] : ['skills/default.yaml', 'skills/chef.yaml'];
  for (const path of ['SOUL.md', ...skills, 'delegates.example.yaml', 'users.example.yaml']) {
    const target = join(directory, path);
    if (!existsSync(target)) await writeFileAtomic(target, await readFile(join(examples, path), 'utf8'));
  }
}
