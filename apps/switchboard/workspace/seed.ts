import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Puts a small working example into a workspace that is empty; says whether it did. */
export async function seedWorkspace(directory: string): Promise<boolean> {
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0) return false;
  await cp(join(import.meta.dirname, 'seed'), directory, { recursive: true });
  return true;
}
