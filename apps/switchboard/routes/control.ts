import type { Bus } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { CommandKind } from '../control/commands.ts';
import { entryName } from '../workspace/schema/names.ts';
import { commandErrors, sendCommand } from './command.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  entry_exists: [
    409,
    ({ name }: { name: string }) => `${name} is there already; remove it first, or PUT it.`,
  ],
  entry_unknown: [404, ({ name }: { name: string }) => `There is nothing called ${name}.`],
});

const body = z.looseObject({ name: entryName });
export interface ControlParts {
  bus: Bus;
  /** Names that there are of each kind. */
  names: Record<CommandKind, () => readonly string[]>;
}

/** The write API: each change is a command on the bus, which the registrar carries out and answers. */
export function mountControl(app: Hono<SwitchboardEnv>, parts: ControlParts): void {
  mountKind(app, '/api/agents', 'agent', parts);
  mountKind(app, '/api/external-agents', 'a2a', parts);
  mountKind(app, '/api/routes', 'route', parts);
  mountKind(app, '/api/mcp-servers', 'mcp', parts);
}

function mountKind(app: Hono<SwitchboardEnv>, path: string, kind: CommandKind, parts: ControlParts): void {
  const { entry_exists, entry_unknown } = errors;
  const create = describeRoute({
    summary: `Adds an entry (${kind})`,
    status: 201,
    errors: [entry_exists, commandErrors.command_refused],
  });
  app.post(path, create, validate('json', body), async (context) => {
    const entry = context.req.valid('json');
    if (parts.names[kind]().includes(entry.name)) throw entry_exists({ name: entry.name });
    await sendCommand(context, parts.bus, `command.${kind}.upsert`, upsertOf(entry));
    return context.json({ success: true, data: { name: entry.name } }, 201);
  });
  const replace = describeRoute({
    summary: `Adds or replaces an entry (${kind})`,
    errors: [commandErrors.command_refused],
  });
  app.put(`${path}/:name`, replace, validate('json', z.looseObject({})), async (context) => {
    const entry = { ...context.req.valid('json'), name: context.req.param('name') };
    await sendCommand(context, parts.bus, `command.${kind}.upsert`, upsertOf(entry));
    return context.json({ success: true, data: { name: entry.name } });
  });
  const remove = describeRoute({ summary: `Removes an entry (${kind})`, errors: [entry_unknown] });
  app.delete(`${path}/:name`, remove, async (context) => {
    const name = context.req.param('name');
    if (!parts.names[kind]().includes(name)) throw entry_unknown({ name });
    await sendCommand(context, parts.bus, `command.${kind}.remove`, { name, file: `${name}.yaml` });
    return context.json({ success: true });
  });
}

function upsertOf(entry: { name: string }) {
  return { name: entry.name, file: `${entry.name}.yaml`, yaml: stringify(entry), entry };
}
