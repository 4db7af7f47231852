import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';

/** The name of this switchboard among those that share a bus; made once, and kept with its data. */
export async function nodeName(home: string): Promise<string> {
  const path = join(home, 'node.json');
  const known = await readJsonFile(path);
  if (isNamed(known)) return known.name;
  const name = randomBytes(6).toString('hex');
  await writeFileAtomic(path, JSON.stringify({ name }));
  return name;
}

function isNamed(value: unknown): value is { name: string } {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}
