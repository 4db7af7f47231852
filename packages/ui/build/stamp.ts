// A stamp beside the built pages tells from which sources they came: a hash of their contents, and one of their sizes and
// times of change, which every start compares.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { systemCode } from '@trunkline/std';
import type { PageLayout } from './layout.ts';

const STAMP = '.pages-stamp';

type Sources = Pick<PageLayout, 'root' | 'source'>;

/** Of everything that a build of these pages reads. */
export function sourceStamp(layout: Sources): string {
  const files = sourcesOf(layout);
  return `${contentHash(layout.root, files)}\n${quickHash(layout.root, files)}`;
}

/** Whether a directory holds finished pages of the present sources. */
export function isFresh(directory: string, layout: Sources): boolean {
  const [content, quick] = readStamp(directory);
  if (content === undefined) return false;
  const files = sourcesOf(layout);
  if (quick === quickHash(layout.root, files)) return true;
  // Touched, or checked out again.
  if (content !== contentHash(layout.root, files)) return false;
  try {
    writeStamp(directory, sourceStamp(layout));
  } catch (error) {
    // The pages may belong to another user: then each start reads the sources.
    if (!['EACCES', 'EPERM', 'EROFS'].includes(systemCode(error) ?? '')) throw error;
  }
  return true;
}

export function writeStamp(directory: string, stamp: string): void {
  writeFileSync(join(directory, STAMP), stamp);
}

function readStamp(directory: string): string[] {
  try {
    return readFileSync(join(directory, STAMP), 'utf8').split('\n');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return [];
    throw error;
  }
}

function contentHash(root: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}

function quickHash(root: string, files: readonly string[]): string {
  const described = files.map((file) => {
    const { size, mtimeMs } = statSync(file);
    return `${file.slice(root.length)}\0${size}\0${mtimeMs}`;
  });
  return createHash('sha256').update(described.join('\0')).digest('hex');
}

function sourcesOf({ root, source }: Sources): string[] {
  const ui = join(root, 'packages/ui');
  const folders = [join(ui, 'src'), join(ui, 'build'), source];
  return [join(root, 'package-lock.json'), ...folders.flatMap(sourceFiles)];
}

function sourceFiles(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
