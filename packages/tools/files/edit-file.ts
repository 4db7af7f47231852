import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { orRefusal } from '../refusal.ts';
import type { WorkspaceSandbox } from './workspace-sandbox.ts';

const MOST_BYTES = 2 * 1024 * 1024;

const input = z.object({
  path: z.string(),
  old_text: z.string().min(1).describe('Must stand in the file exactly once.'),
  new_text: z.string().max(2_000_000),
});

export function createEditFile(sandbox: Pick<WorkspaceSandbox, 'read' | 'write'>): Tool {
  return defineTool({
    name: 'edit_file',
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
