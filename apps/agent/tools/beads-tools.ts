import { defineTool, type Tool, type ToolContext } from '@trunkline/llm';
import { z } from 'zod';
import { type BeadsStore, ISSUE_STATES, ISSUE_TYPES, type Issue } from '../stores/beads-store.ts';
import { defineToolModule } from './tool-module.ts';

export const beadsTools = defineToolModule({
  name: 'beads',
  tools({ stores: { beads }, actor }) {
    if (beads === undefined) return [];
    const boardOf: BoardOf = ({ principal }) => beads.for(actor(principal));
    return [beadsCreate(boardOf), beadsList(boardOf), beadsUpdate(boardOf), beadsClose(boardOf)];
  },
});

type BoardOf = (context: Pick<ToolContext, 'principal'>) => BeadsStore;

const issueId = z.string().describe('As in bd-1.');
const title = z.string().trim().min(1).max(500);
const description = z.string().max(20_000);
const priority = z.number().int().min(0).max(4);

function beadsCreate(boardOf: BoardOf): Tool {
  return defineTool({
    name: 'beads_create',
    effects: ['writes'],
    description: 'Puts an issue on the task board.',
    input: z.object({
      title,
      description: description.default(''),
      priority: priority.default(2).describe('0 is the most urgent, 4 the least.'),
      issue_type: z.enum(ISSUE_TYPES).default('task'),
    }),
    execute: async (given, context) => {
      const issue = boardOf(context).create(given, context.principal?.origins);
      return `Created ${issue.id}: ${issue.title}`;
    },
  });
}

function beadsList(boardOf: BoardOf): Tool {
  return defineTool({
    name: 'beads_list',
    effects: ['reads'],
    description: 'Lists the issues on the task board, the most urgent first.',
    input: z.object({ include_closed: z.boolean().default(false) }),
    execute: async ({ include_closed }, context) => {
      const board = boardOf(context);
      const issues = board.list(include_closed);
      context.addOrigins?.(board.originsOf(issues));
      return issues.length === 0 ? 'No issues.' : issues.map(issueLine).join('\n');
    },
  });
}

function beadsUpdate(boardOf: BoardOf): Tool {
  return defineTool({
    name: 'beads_update',
    effects: ['writes'],
    description: 'Changes an issue on the task board.',
    input: z.object({
      issue_id: issueId,
      status: z.enum(ISSUE_STATES).optional(),
      title: title.optional(),
      description: description.optional(),
      priority: priority.optional(),
      issue_type: z.enum(ISSUE_TYPES).optional(),
    }),
    execute: async ({ issue_id, ...change }, context) => {
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      if (Object.keys(given).length === 0) return 'Error: say what to change.';
      const board = boardOf(context);
      const issue = board.update(issue_id, given, context.principal?.origins);
      context.addOrigins?.(board.originsOf([issue]));
      return `Updated ${issueLine(issue)}`;
    },
  });
}

function beadsClose(boardOf: BoardOf): Tool {
  return defineTool({
    name: 'beads_close',
    effects: ['writes'],
    description: 'Closes an issue on the task board.',
    input: z.object({ issue_id: issueId, reason: z.string().max(2000).optional() }),
    execute: async ({ issue_id, reason }, context) => {
      const closed = { status: 'closed' as const, reason: reason ?? null };
      return `Closed ${boardOf(context).update(issue_id, closed, context.principal?.origins).id}.`;
    },
  });
}

function issueLine({ id, status, priority: urgency, issue_type, title: text }: Issue): string {
  return `${id} [${status}] P${urgency} ${issue_type}: ${text}`;
}
