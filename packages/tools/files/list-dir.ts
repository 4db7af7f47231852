import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../refusal.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST = 1000;

export function createListDir(sandbox: Pick<WorkspaceSandbox, 'list'>): Tool {
  return defineTool({
    name: 'list_dir',
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
