import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_BYTES = 2 * 1024 * 1024;

const input = z.object({
  path: z.string(),
  start_line: z.number().int().min(1).default(1),
  max_lines: z.number().int().min(1).max(5000).default(500),
});

export function createReadFile(sandbox: Pick<WorkspaceSandbox, 'read'>): Tool {
  return defineTool({
    name: 'read_file',
    effects: ['reads'],
    subject: ({ path }) => ({ path }),
    description: 'Reads lines of a text file of the workspace.',
    input,
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
