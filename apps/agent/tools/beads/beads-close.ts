import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { BeadsStore } from '../../stores/beads-store.ts';

const input = z.object({
  issue_id: z.string().describe('As in bd-1.'),
  reason: z.string().max(2000).optional(),
});

export function createBeadsClose(beads: Pick<BeadsStore, 'update'>): Tool {
  return defineTool({
    name: 'beads_close',
    description: 'Closes an issue on the task board.',
    input,
    execute: ({ issue_id, reason }) =>
      orRefusal(() => `Closed ${beads.update(issue_id, { status: 'closed', reason: reason ?? null }).id}.`),
  });
}
