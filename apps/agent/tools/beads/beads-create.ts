import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { type BeadsStore, ISSUE_TYPES } from '../../stores/beads-store.ts';

const input = z.object({
  title: z.string().trim().min(1).max(500),
  description: z.string().max(20_000).default(''),
  priority: z.number().int().min(0).max(4).default(2).describe('0 is the most urgent, 4 the least.'),
  issue_type: z.enum(ISSUE_TYPES).default('task'),
});

export function createBeadsCreate(beads: Pick<BeadsStore, 'create'>): Tool {
  return defineTool({
    name: 'beads_create',
    description: 'Puts an issue on the task board.',
    input,
    execute: (issue) =>
      orRefusal(() => {
        const { id, title } = beads.create(issue);
        return `Created ${id}: ${title}`;
      }),
  });
}
