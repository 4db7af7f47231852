import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../refusal.ts';
import type { Fence } from './fence.ts';

const MOST_BYTES = 2 * 1024 * 1024;

const input = z.object({
  path: z.string(),
  start_line: z.number().int().min(1).default(1),
  max_lines: z.number().int().min(1).max(5000).default(500),
});

export function createReadFile(fence: Pick<Fence, 'read'>): Tool {
  return defineTool({
    name: 'read_file',
    description: 'Reads lines of a text file of the workspace.',
    input,
    execute: ({ path, start_line, max_lines }) =>
      orRefusal(async () => {
        const content = await fence.read(path, MOST_BYTES);
        if (content.subarray(0, 1024).includes(0)) return `Error: ${path} is not a text file.`;
        const lines = content.toString('utf8').split('\n');
        const shown = lines.slice(start_line - 1, start_line - 1 + max_lines);
        const left = lines.length - (start_line - 1 + shown.length);
        return left > 0 ? `${shown.join('\n')}\n…[${left} more lines]` : shown.join('\n');
      }),
  });
}
