import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import { createGlob, createSearchFiles, walkFiles } from './search-files.ts';
import { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_LISTED = 1000;
const MOST_FOUND = 200;
const MOST_BYTES = 2 * 1024 * 1024;

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

function createListDir(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'list_dir',
    effects: ['reads'],
    subject: ({ path }) => sandbox.subject(path.trim()),
    description: 'Lists a directory of the workspace; directories end with a slash.',
    input: z.object({ path: z.string().default('.') }),
    execute: ({ path }) =>
      orRefusal(async () => {
        const entries = await sandbox.list(path.trim() || '.');
        const lines = entries
          .slice(0, MOST_LISTED)
          .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
        if (entries.length > MOST_LISTED) lines.push(`… and ${entries.length - MOST_LISTED} more`);
        return lines.length === 0 ? '(empty)' : lines.join('\n');
      }),
  });
}

function createReadFile(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'read_file',
    effects: ['reads'],
    subject: ({ path }) => sandbox.subject(path),
    description: 'Reads lines of a text file of the workspace.',
    input: z.object({
      path: z.string(),
      start_line: z.number().int().min(1).default(1),
      max_lines: z.number().int().min(1).max(5000).default(500),
    }),
    execute: ({ path, start_line, max_lines }) =>
      orRefusal(async () => {
        const content = await sandbox.read(path, MOST_BYTES);
        if (content.subarray(0, 1024).includes(0)) return `Error: ${path} is not a text file.`;
        const lines = content.toString('utf8').split('\n');
        const shown = lines.slice(start_line - 1, start_line - 1 + max_lines);
        const left = lines.length - (start_line - 1 + shown.length);
        return left > 0 ? `${shown.join('\n')}\n…[${left} more lines]` : shown.join('\n');
      }),
  });
}

function createFindFiles(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'find_files',
    effects: ['reads'],
    subject: ({ path }) => sandbox.subject(path),
    description: 'Finds files of the workspace by name.',
    input: z.object({
      pattern: z.string().min(1).max(500).describe('With * and ?, and ** for any directories: **/*.ts.'),
      path: z.string().default('.'),
    }),
    execute: ({ pattern, path }, { signal, permits }) =>
      orRefusal(async () => {
        const fits = createGlob(pattern);
        const found: string[] = [];
        for await (const file of walkFiles(sandbox, path, { signal, permits })) {
          if (fits(file)) found.push(file);
          if (found.length >= MOST_FOUND) break;
        }
        return found.length === 0 ? 'No files.' : found.join('\n');
      }, signal),
  });
}

function createWriteFile(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'write_file',
    effects: ['writes'],
    subject: ({ path }) => sandbox.subject(path),
    description: 'Writes a text file of the workspace, replacing what is there.',
    input: z.object({ path: z.string(), content: z.string().max(2_000_000) }),
    execute: ({ path, content }) =>
      orRefusal(async () => {
        await sandbox.write(path, content);
        return `Wrote ${content.length} characters to ${path}.`;
      }),
  });
}

function createEditFile(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'edit_file',
    effects: ['writes'],
    subject: ({ path }) => sandbox.subject(path),
    description: 'Replaces one piece of text in a file of the workspace.',
    input: z.object({
      path: z.string(),
      old_text: z.string().min(1).describe('Must stand in the file exactly once.'),
      new_text: z.string().max(2_000_000),
    }),
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
