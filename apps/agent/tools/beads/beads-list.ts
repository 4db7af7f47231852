import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { BeadsStore } from '../../stores/beads-store.ts';
import { issueLine } from './issue-line.ts';

export function createBeadsList(beads: Pick<BeadsStore, 'list'>): Tool {
  return defineTool({
    name: 'beads_list',
    description: 'Lists the issues on the task board, the most urgent first.',
    input: z.object({ include_closed: z.boolean().default(false) }),
    execute: ({ include_closed }) =>
      orRefusal(() => {
        const issues = beads.list(include_closed);
        return issues.length === 0 ? 'No issues.' : issues.map(issueLine).join('\n');
      }),
  });
}
