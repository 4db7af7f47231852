import { describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Change, ChangeView } from '../api-types.ts';
import type { ChangeStore } from '../control/change-store.ts';
import { lineDiff } from '../control/diff.ts';
import { holdsSecrets, redactText } from '../control/redact.ts';
import { type CommandBus, commandErrors, sendCommand } from './command.ts';
import type { SwitchboardEnv } from './guards.ts';

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  file: z.string().optional(),
  kind: z.string().optional(),
  name: z.string().optional(),
  before: z.coerce.number().int().positive().optional(),
});
const undoBody = z.object({ reason: z.string().max(1000).optional() }).default({});

/** What was changed in the workspace, with the difference of each; and the way back. */
export function mountChanges(app: Hono<SwitchboardEnv>, bus: CommandBus, changes: ChangeStore): void {
  const audit = describeRoute({
    summary: 'Changes of the workspace with their differences, the newest first',
  });
  app.get('/api/changes', audit, validate('query', listQuery), (context) => {
    const { limit, ...wanted } = context.req.valid('query');
    return context.json({ success: true, data: changes.list(limit, wanted).map(withDiff) });
  });
  const one = describeRoute({ summary: 'One change', errors: [commandErrors.change_unknown] });
  app.get('/api/changes/:id', one, (context) =>
    context.json({ success: true, data: withDiff(found(changes, context.req.param('id'))) }),
  );
  const { change_unknown, change_overtaken } = commandErrors;
  const undo = describeRoute({
    summary: 'Brings back what stood before a change',
    errors: [change_unknown, change_overtaken],
  });
  app.post('/api/changes/:id/undo', undo, validate('json', undoBody), async (context) => {
    const { id } = found(changes, context.req.param('id'));
    const payload = { id, ...context.req.valid('json') };
    const undone = await sendCommand(context, bus, 'command.change.undo', payload);
    return context.json({ success: true, data: withDiff(found(changes, String(undone))) });
  });
}

function found(changes: ChangeStore, id: string): Change {
  const change = /^\d{1,15}$/.test(id) ? changes.get(Number(id)) : undefined;
  if (change === undefined) throw commandErrors.change_unknown({ words: `There is no change ${id}.` });
  return change;
}

/** Without credentials; the store has them, so that the change can be undone. */
function withDiff(change: Change): ChangeView {
  const shown = (text: string | null) => (text === null || !mayHoldSecrets(change) ? text : redactText(text));
  const [before, after] = [shown(change.before), shown(change.after)];
  return { ...change, before, after, diff: lineDiff(before, after) };
}

/** Changes of early versions have no kind. */
function mayHoldSecrets({ kind }: Change): boolean {
  return kind === '' || holdsSecrets(kind);
}
