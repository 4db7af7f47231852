import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../failure.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const input = z.object({ path: z.string(), content: z.string().max(2_000_000) });

export function createWriteFile(sandbox: Pick<WorkspaceSandbox, 'write'>): Tool {
  return defineTool({
    name: 'write_file',
    effects: ['writes'],
    subject: ({ path }) => ({ path }),
    description: 'Writes a text file of the workspace, replacing what is there.',
    input,
    execute: ({ path, content }) =>
      orRefusal(async () => {
        await sandbox.write(path, content);
        return `Wrote ${content.length} characters to ${path}.`;
      }),
  });
}
