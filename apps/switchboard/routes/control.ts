import { basename } from 'node:path';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { CommandKind } from '../control/command-kinds.ts';
import type { ControlPlane } from '../control/control-plane.ts';
import { kinds } from '../workspace/kinds.ts';
import { entryName } from '../workspace/schema/names.ts';
import { type CommandBus, commandErrors, sendCommand } from './command.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  entry_exists: [
    409,
    ({ name }: { name: string }) => `${name} is there already; remove it first, or PUT it.`,
  ],
  entry_unknown: [404, ({ name }: { name: string }) => `There is nothing called ${name}.`],
  entry_elsewhere: [
    409,
    ({ name, place }: { name: string; place: string }) =>
      `${name} has no file of its own: it comes from ${place}; remove it there.`,
  ],
});

const loose = z.looseObject({});

export interface ControlParts {
  bus: CommandBus;
  controlPlane: ControlPlane;
  /** Where agents of other services stand that commands do not write, by name. */
  listedElsewhere: () => ReadonlyMap<string, string>;
}

/** The write API: each change is a command on the bus, which the registrar carries out and answers. */
export function mountControl(app: Hono<SwitchboardEnv>, parts: ControlParts): void {
  mountKind(app, '/api/agents', 'agent', parts);
  mountKind(app, '/api/external-agents', 'a2a', parts);
  mountKind(app, '/api/routes', 'route', parts);
  mountKind(app, '/api/mcp-servers', 'mcp', parts);
  mountKind(app, '/api/ceremonies', 'ceremony', parts);
}

function mountKind(app: Hono<SwitchboardEnv>, path: string, kind: CommandKind, parts: ControlParts): void {
  const { entry_exists, entry_unknown, entry_elsewhere } = errors;
  const { command_refused, entry_twice } = commandErrors;
  const { controlPlane } = parts;
  const { key } = kinds[kind];
  // What was just written or removed counts at once, before the workspace has read it again.
  const isName = (name: string) => entryName.safeParse(name).success;
  const hasFile = async (name: string) => isName(name) && (await controlPlane.read(kind, name)) !== null;
  const fileOf = (name: string) => (isName(name) ? basename(controlPlane.fileOf(kind, name)) : '');
  const placeElsewhere = (name: string) => (kind === 'a2a' ? parts.listedElsewhere().get(name) : undefined);
  const upsert = async (context: Context<SwitchboardEnv>, name: string, entry: object) => {
    const payload = { name, file: fileOf(name), yaml: stringify(entry), entry };
    await sendCommand(context, parts.bus, `command.${kind}.upsert`, payload);
  };
  const create = describeRoute({
    summary: `Adds an entry (${kind})`,
    status: 201,
    errors: [entry_exists, command_refused],
  });
  const body = z.looseObject(key === 'id' ? { id: entryName } : { name: entryName });
  app.post(path, create, validate('json', body), async (context) => {
    const entry = context.req.valid('json');
    const name = String(entry[key]);
    if ((await hasFile(name)) || placeElsewhere(name) !== undefined) throw entry_exists({ name });
    await upsert(context, name, entry);
    return context.json({ success: true, data: { name } }, 201);
  });
  const replace = describeRoute({
    summary: `Adds or replaces an entry (${kind})`,
    errors: [command_refused, entry_twice],
  });
  app.put(`${path}/:name`, replace, validate('json', loose), async (context) => {
    const name = context.req.param('name');
    await upsert(context, name, { ...context.req.valid('json'), [key]: name });
    return context.json({ success: true, data: { name } });
  });
  const remove = describeRoute({
    summary: `Removes an entry (${kind})`,
    errors: [entry_unknown, entry_twice, ...(kind === 'a2a' ? [entry_elsewhere] : [])],
  });
  app.delete(`${path}/:name`, remove, async (context) => {
    const name = context.req.param('name');
    if (!(await hasFile(name))) {
      const place = placeElsewhere(name);
      throw place === undefined ? entry_unknown({ name }) : entry_elsewhere({ name, place });
    }
    await sendCommand(context, parts.bus, `command.${kind}.remove`, { name, file: fileOf(name) });
    return context.json({ success: true });
  });
}
