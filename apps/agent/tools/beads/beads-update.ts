import { defineTool, type Tool } from '@trunkline/llm';
import { orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import { type BeadsStore, ISSUE_STATES, ISSUE_TYPES } from '../../stores/beads-store.ts';
import { issueLine } from './issue-line.ts';

const input = z.object({
  issue_id: z.string().describe('As in bd-1.'),
  status: z.enum(ISSUE_STATES).optional(),
  title: z.string().trim().min(1).max(500).optional(),
  description: z.string().max(20_000).optional(),
  priority: z.number().int().min(0).max(4).optional(),
  issue_type: z.enum(ISSUE_TYPES).optional(),
});

export function createBeadsUpdate(beads: Pick<BeadsStore, 'update'>): Tool {
  return defineTool({
    name: 'beads_update',
    description: 'Changes an issue on the task board.',
    input,
    execute: ({ issue_id, status, title, description, priority, issue_type }) =>
      orRefusal(() => {
        const change = { status, title, description, priority, issue_type };
        const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
        if (Object.keys(given).length === 0) return 'Error: say what to change.';
        return `Updated ${issueLine(beads.update(issue_id, given))}`;
      }),
  });
}
