import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import { createFindFiles } from './find-files.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { WorkspaceSandbox } from './workspace-sandbox.ts';
import { createWriteFile } from './write-file.ts';

const MOST = 1000;

const MOST_BYTES = 2 * 1024 * 1024;

const input = z.object({
  path: z.string(),
  old_text: z.string().min(1).describe('Must stand in the file exactly once.'),
  new_text: z.string().max(2_000_000),
});

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

function createEditFile(sandbox: Pick<WorkspaceSandbox, 'read' | 'write'>): Tool {
  return defineTool({
    name: 'edit_file',
    effects: ['writes'],
    subject: ({ path }) => ({ path }),
    description: 'Replaces one piece of text in a file of the workspace.',
    input,
    execute: ({ path, old_text, new_text }) =>
      orRefusal(async () => {
        const content = textOf(await sandbox.read(path, MOST_BYTES));
        if (content === undefined)
          return `Error: ${path} is not text in UTF-8, so that editing it would damage it.`;
        const count = content.split(old_text).length - 1;
        if (count !== 1)
          return `Error: the text stands ${count} times in ${path}; it must stand there exactly once.`;
        await sandbox.write(
          path,
          content.replace(old_text, () => new_text),
        );
        return `Edited ${path}.`;
      }),
  });
}

/** Undefined for bytes that would not come back the same. */
function textOf(content: Buffer): string | undefined {
  const text = content.toString('utf8');
  return Buffer.from(text).equals(content) ? text : undefined;
}

function createListDir(sandbox: Pick<WorkspaceSandbox, 'list'>): Tool {
  return defineTool({
    name: 'list_dir',
    effects: ['reads'],
    subject: ({ path }) => ({ path }),
    description: 'Lists a directory of the workspace; directories end with a slash.',
    input: z.object({ path: z.string().default('.') }),
    execute: ({ path }) =>
      orRefusal(async () => {
        const entries = await sandbox.list(path.trim() || '.');
        const lines = entries
          .slice(0, MOST)
          .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
        if (entries.length > MOST) lines.push(`… and ${entries.length - MOST} more`);
        return lines.length === 0 ? '(empty)' : lines.join('\n');
      }),
  });
}
