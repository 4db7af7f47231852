// A stamp beside the built pages tells from which sources they came.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { systemCode } from '@trunkline/std';
import type { PageLayout } from './layout.ts';

const STAMP = '.pages-stamp';

/** One hash over everything that a build of these pages reads. */
export function sourceStamp({ root, source }: Pick<PageLayout, 'root' | 'source'>): string {
  const ui = join(root, 'packages/ui');
  const files = [
    join(root, 'package-lock.json'),
    ...sourceFiles(join(ui, 'src')),
    ...sourceFiles(join(ui, 'build')),
    ...sourceFiles(source),
  ];
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}

/** The stamp of the pages in a directory; none when there are no finished pages. */
export function readStamp(directory: string): string | undefined {
  try {
    return readFileSync(join(directory, STAMP), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

export function writeStamp(directory: string, stamp: string): void {
  writeFileSync(join(directory, STAMP), stamp);
}

function sourceFiles(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
