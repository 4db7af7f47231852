import type { Bus } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { ChangeStore } from '../control/change-store.ts';
import type { KindName } from '../control/kinds.ts';
import { busFailure } from '../errors.ts';
import { entryName } from '../workspace/agent-schema.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  entry_exists: [
    409,
    ({ name }: { name: string }) => `${name} is there already; remove it first, or PUT it.`,
  ],
  entry_unknown: [404, ({ name }: { name: string }) => `There is nothing called ${name}.`],
  entry_refused: [400, ({ words }: { words: string }) => words],
});

const body = z.looseObject({ name: entryName });
const limitQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(100) });
const commandTimeoutMs = 15_000;

export interface ControlParts {
  bus: Bus;
  changes: ChangeStore;
  /** Names that there are of each kind. */
  names: Record<KindName, () => readonly string[]>;
}

/** The write API: each change is a command on the bus, which the registrar carries out and answers. */
export function mountControl(app: Hono<SwitchboardEnv>, parts: ControlParts): void {
  mountKind(app, '/api/agents', 'agent', parts);
  mountKind(app, '/api/external-agents', 'a2a', parts);
  mountKind(app, '/api/routes', 'route', parts);
  mountKind(app, '/api/mcp-servers', 'mcp', parts);
  const audit = describeRoute({ summary: 'Changes of the workspace through commands, the newest first' });
  app.get('/api/changes', audit, validate('query', limitQuery), (context) =>
    context.json({ success: true, data: parts.changes.list(context.req.valid('query').limit) }),
  );
}

function mountKind(app: Hono<SwitchboardEnv>, path: string, kind: KindName, parts: ControlParts): void {
  const { entry_exists, entry_unknown, entry_refused } = errors;
  const create = describeRoute({
    summary: `Adds an entry (${kind})`,
    status: 201,
    errors: [entry_exists, entry_refused],
  });
  app.post(path, create, validate('json', body), async (context) => {
    const entry = context.req.valid('json');
    if (parts.names[kind]().includes(entry.name)) throw entry_exists({ name: entry.name });
    await command(context, parts.bus, `command.${kind}.upsert`, upsertOf(entry));
    return context.json({ success: true, data: { name: entry.name } }, 201);
  });
  const replace = describeRoute({ summary: `Adds or replaces an entry (${kind})`, errors: [entry_refused] });
  app.put(`${path}/:name`, replace, validate('json', z.looseObject({})), async (context) => {
    const entry = { ...context.req.valid('json'), name: context.req.param('name') };
    await command(context, parts.bus, `command.${kind}.upsert`, upsertOf(entry));
    return context.json({ success: true, data: { name: entry.name } });
  });
  const remove = describeRoute({ summary: `Removes an entry (${kind})`, errors: [entry_unknown] });
  app.delete(`${path}/:name`, remove, async (context) => {
    const name = context.req.param('name');
    if (!parts.names[kind]().includes(name)) throw entry_unknown({ name });
    await command(context, parts.bus, `command.${kind}.remove`, { name, file: `${name}.yaml` });
    return context.json({ success: true });
  });
}

function upsertOf(entry: { name: string }) {
  return { name: entry.name, file: `${entry.name}.yaml`, yaml: stringify(entry), entry };
}

async function command(
  context: Context<SwitchboardEnv>,
  bus: Bus,
  topic: string,
  payload: object,
): Promise<void> {
  const source = { interface: 'api', userId: context.get('caller').name };
  const options = { timeoutMs: commandTimeoutMs, source };
  const answer = await bus.request(topic, payload, options).catch((error: unknown) => {
    throw busFailure(error);
  });
  const { success, error } = answer.payload as { success: boolean; error?: string };
  if (!success) throw errors.entry_refused({ words: error ?? 'It was refused.' });
}
