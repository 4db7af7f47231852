import type { Tool } from '@trunkline/llm';
import { createEditFile } from './edit-file.ts';
import { createFindFiles } from './find-files.ts';
import { createListDir } from './list-dir.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { WorkspaceSandbox } from './workspace-sandbox.ts';
import { createWriteFile } from './write-file.ts';

/** The tools on the files of one directory, and nothing outside it. */
export function fileTools(directory: string): Tool[] {
  const sandbox = new WorkspaceSandbox(directory);
  return [
    createListDir(sandbox),
    createReadFile(sandbox),
    createFindFiles(sandbox),
    createSearchFiles(sandbox),
    createWriteFile(sandbox),
    createEditFile(sandbox),
  ];
}
