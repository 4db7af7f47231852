import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import { createGlob, walkFiles } from './search-files.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST = 200;

const input = z.object({
  pattern: z.string().min(1).max(500).describe('With * and ?, and ** for any directories: **/*.ts.'),
  path: z.string().default('.'),
});

export function createFindFiles(sandbox: WorkspaceSandbox): Tool {
  return defineTool({
    name: 'find_files',
    effects: ['reads'],
    subject: ({ path }) => ({ path }),
    description: 'Finds files of the workspace by name.',
    input,
    execute: ({ pattern, path }, { signal }) =>
      orRefusal(async () => {
        const fits = createGlob(pattern);
        const found: string[] = [];
        for await (const file of walkFiles(sandbox, path, signal)) {
          if (fits(file)) found.push(file);
          if (found.length >= MOST) break;
        }
        return found.length === 0 ? 'No files.' : found.join('\n');
      }, signal),
  });
}
