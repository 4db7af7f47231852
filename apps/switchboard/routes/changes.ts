import { describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Change, ChangeView } from '../api-types.ts';
import { type ChangeStore, canUndo } from '../control/change-store.ts';
import { holdsSecrets, redactText } from '../control/redact.ts';
import { throwBusFailure } from '../errors.ts';
import { type CommandBus, commandErrors, sendCommand } from './control.ts';
import type { SwitchboardEnv } from './guards.ts';

/** Above this the diff shows both texts whole: its time grows with the product of their lines. */
const mostPairs = 1_000_000;

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  file: z.string().optional(),
  kind: z.string().optional(),
  name: z.string().optional(),
  before: z.coerce.number().int().positive().optional(),
});
const undoBody = z.object({ reason: z.string().max(1000).optional() }).default({});

interface ChangeParts {
  bus: CommandBus;
  changes: ChangeStore;
  /** Resolves when the changes of other switchboards are here. */
  catchUp: () => Promise<void>;
}

export function mountChanges(app: Hono<SwitchboardEnv>, { bus, changes, catchUp }: ChangeParts): void {
  const found = async (id: string) => {
    const number = /^\d{1,16}$/.test(id) ? Number(id) : 0;
    if (changes.get(number) === undefined) await catchUp().catch(throwBusFailure);
    const change = changes.get(number);
    if (change === undefined) throw commandErrors.change_unknown({ words: `There is no change ${id}.` });
    return withDiff(change);
  };
  const audit = describeRoute({
    summary: 'Changes of the workspace with their differences, the newest first',
  });
  app.get('/api/changes', audit, validate('query', listQuery), (context) => {
    const { limit, ...wanted } = context.req.valid('query');
    return context.json({ success: true, data: changes.list(limit, wanted).map(withDiff) });
  });
  const one = describeRoute({ summary: 'One change', errors: [commandErrors.change_unknown] });
  app.get('/api/changes/:id', one, async (context) =>
    context.json({ success: true, data: await found(context.req.param('id')) }),
  );
  const { command_refused, change_unknown, change_overtaken } = commandErrors;
  const undo = describeRoute({
    summary: 'Brings back what stood before a change',
    errors: [command_refused, change_unknown, change_overtaken],
  });
  app.post('/api/changes/:id/undo', undo, validate('json', undoBody), async (context) => {
    const { id, messageId } = await found(context.req.param('id'));
    // Changes from before switchboards shared them have numbers that another may have given too.
    const payload = { id, change: messageId, ...context.req.valid('json') };
    const undone = await sendCommand(context, bus, 'command.change.undo', payload);
    return context.json({ success: true, data: await found(String(undone)) });
  });
}

/** Redacted; the store keeps credentials, so that the change can be undone. */
function withDiff(change: Change): ChangeView {
  const shown = (text: string | null) => (text === null || !mayHoldSecrets(change) ? text : redactText(text));
  const [before, after] = [shown(change.before), shown(change.after)];
  return { ...change, before, after, canUndo: canUndo(change), diff: lineDiff(before, after) };
}

/** Changes of early versions have no kind. */
function mayHoldSecrets({ kind }: Change): boolean {
  return kind === '' || holdsSecrets(kind);
}

type Line = { sign: ' ' | '-' | '+'; text: string };

/** Every line with ` `, `-` or `+` before it; null stands for no file. */
export function lineDiff(before: string | null, after: string | null): string {
  const [old, young] = [linesOf(before), linesOf(after)];
  const head = commonLength(old, young);
  const tail = commonLength(old.slice(head).reverse(), young.slice(head).reverse());
  const middle = compare(old.slice(head, old.length - tail), young.slice(head, young.length - tail));
  const same = (lines: string[]): Line[] => lines.map((text) => ({ sign: ' ', text }));
  const all = [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))];
  return all.map(({ sign, text }) => `${sign}${text}`).join('\n');
}

function linesOf(text: string | null): string[] {
  if (text === null || text === '') return [];
  return text.replace(/\n$/, '').split('\n');
}

function commonLength(left: string[], right: string[]): number {
  const found = left.findIndex((line, index) => line !== right[index]);
  return found === -1 ? Math.min(left.length, right.length) : found;
}

/** Keeps the longest common subsequence. */
function compare(old: string[], young: string[]): Line[] {
  if (old.length * young.length > mostPairs) return [...removed(old), ...added(young)];
  const lengths = commonLengths(old, young);
  const lines: Line[] = [];
  let [left, right] = [0, 0];
  while (left < old.length && right < young.length) {
    if (old[left] === young[right]) {
      lines.push({ sign: ' ', text: old[left++] ?? '' });
      right++;
    } else if ((lengths[left + 1]?.[right] ?? 0) >= (lengths[left]?.[right + 1] ?? 0)) {
      lines.push({ sign: '-', text: old[left++] ?? '' });
    } else lines.push({ sign: '+', text: young[right++] ?? '' });
  }
  return [...lines, ...removed(old.slice(left)), ...added(young.slice(right))];
}

/** Lengths of the longest common subsequence from each pair of lines on. */
function commonLengths(old: string[], young: string[]): Uint32Array[] {
  const rows = Array.from({ length: old.length + 1 }, () => new Uint32Array(young.length + 1));
  for (let left = old.length - 1; left >= 0; left--) {
    const [row, next] = [rows[left] as Uint32Array, rows[left + 1] as Uint32Array];
    for (let right = young.length - 1; right >= 0; right--) {
      row[right] =
        old[left] === young[right]
          ? (next[right + 1] ?? 0) + 1
          : Math.max(next[right] ?? 0, row[right + 1] ?? 0);
    }
  }
  return rows;
}

const removed = (lines: string[]): Line[] => lines.map((text) => ({ sign: '-', text }));

const added = (lines: string[]): Line[] => lines.map((text) => ({ sign: '+', text }));
