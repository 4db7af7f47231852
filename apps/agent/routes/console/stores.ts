import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { ISSUE_STATES, ISSUE_TYPES } from '../../stores/beads-store.ts';
import type { AgentStores } from '../../stores/stores.ts';
import { fromStore } from '../store-failure.ts';

type Stores = Pick<AgentStores, 'notes' | 'beads' | 'goals'>;

const newIssue = z.object({
  title: z.string().trim().min(1),
  description: z.string().default(''),
  priority: z.int().min(0).max(4).default(2),
  issue_type: z.enum(ISSUE_TYPES).default('task'),
});
const issueChange = z.object({
  title: z.string().trim().min(1).optional(),
  description: z.string().optional(),
  priority: z.int().min(0).max(4).optional(),
  issue_type: z.enum(ISSUE_TYPES).optional(),
  status: z.enum(ISSUE_STATES).optional(),
  reason: z.string().optional(),
});
const boardQuery = z.object({ include_closed: z.stringbool().default(false) });

/** What the agent keeps, as the console reads and changes it. */
export function mountStores(app: Hono<AppEnv>, stores: Stores): void {
  mountNotes(app, stores);
  mountBoard(app, stores);
  app.get('/api/goals', describeRoute({ summary: 'Goals of all sessions' }), async (context) =>
    context.json({ goals: await stores.goals.list() }),
  );
  app.delete('/api/goals/:session', describeRoute({ summary: 'Drop a goal' }), async (context) => {
    await stores.goals.remove(context.req.param('session'));
    return context.json({ ok: true });
  });
}

function mountNotes(app: Hono<AppEnv>, stores: Stores): void {
  app.get('/api/notes/workspace', describeRoute({ summary: 'The notes' }), (context) =>
    context.json(stores.notes.workspace()),
  );
  app.put(
    '/api/notes/workspace',
    describeRoute({ summary: 'Replace the notes' }),
    validate('json', z.looseObject({})),
    async (context) => context.json(await fromStore(() => stores.notes.replace(context.req.valid('json')))),
  );
}

function mountBoard(app: Hono<AppEnv>, stores: Stores): void {
  app.get(
    '/api/beads/issues',
    describeRoute({ summary: 'The task board' }),
    validate('query', boardQuery),
    (context) => context.json({ issues: stores.beads.list(context.req.valid('query').include_closed) }),
  );
  app.post(
    '/api/beads/issues',
    describeRoute({ summary: 'Put an issue on the board' }),
    validate('json', newIssue),
    async (context) =>
      context.json({ issue: await fromStore(() => stores.beads.create(context.req.valid('json'))) }),
  );
  app.patch(
    '/api/beads/issues/:id',
    describeRoute({ summary: 'Change an issue' }),
    validate('json', issueChange),
    async (context) => {
      const change = Object.fromEntries(
        Object.entries(context.req.valid('json')).filter(([, value]) => value !== undefined),
      );
      const issue = await fromStore(() => stores.beads.update(context.req.param('id'), change));
      return context.json({ issue });
    },
  );
}
