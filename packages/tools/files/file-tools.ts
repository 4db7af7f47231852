import type { Tool } from '@trunkline/llm';
import { createEditFile } from './edit-file.ts';
import { Fence } from './fence.ts';
import { createFindFiles } from './find-files.ts';
import { createListDir } from './list-dir.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { createWriteFile } from './write-file.ts';

/** The tools on the files of one directory, and nothing outside it. */
export function fileTools(directory: string): Tool[] {
  const fence = new Fence(directory);
  return [
    createListDir(fence),
    createReadFile(fence),
    createFindFiles(fence),
    createSearchFiles(fence),
    createWriteFile(fence),
    createEditFile(fence),
  ];
}
