import { basename } from 'node:path';
import type { Bus } from '@trunkline/bus';
import { ConfigError, lineProblem, type SecretStore, storePlainSecrets } from '@trunkline/config';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import { errorMessage, type LineProblem } from '@trunkline/std';
import type { Context, Hono } from 'hono';
import { isMap, parse, parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import type { CommandKind, JournalDraft } from '../control/commands.ts';
import { type ControlPlane, ControlPlaneError } from '../control/control-plane.ts';
import { holdsSecrets } from '../control/redact.ts';
import { throwBusFailure } from '../errors.ts';
import { type KindName, kinds } from '../workspace/kinds.ts';
import { entryName } from '../workspace/schema/names.ts';
import type { SwitchboardEnv } from './guards.ts';

const fileErrors = defineErrors({
  file_unknown: [404, ({ name }: { name: string }) => `There is no file of ${name} in the workspace.`],
});

/** Kinds whose files hold no credentials. */
const place = z.object({ kind: z.enum(['agent', 'route', 'ceremony']), name: z.string() });

const text = z.string().max(200_000);
const textBody = z.object({ text });

/** The whole text, or values that a form gives: null takes a field out, what is not named stays. */
const fileBody = z
  .object({ text, values: z.record(z.string(), z.json()), reason: z.string().max(1000) })
  .partial()
  .refine((given) => (given.text === undefined) !== (given.values === undefined), {
    message: 'Give either text or values.',
  });

export const commandErrors = defineErrors({
  command_refused: [400, ({ words }: { words: string }) => words],
  change_unknown: [404, ({ words }: { words: string }) => words],
  change_overtaken: [409, ({ words }: { words: string }) => words],
  entry_twice: [409, ({ words }: { words: string }) => words],
});

const timeoutMs = 15_000;

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
  /** External agents that commands do not write, with their place. */
  listedElsewhere: () => ReadonlyMap<string, string>;
  /** Where the secrets of new entries go; undefined where other switchboards read the same files. */
  secrets: SecretStore | undefined;
}

/** Each change is a command on the bus, which the control plane runs and answers. */
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
  // Reads the files, as the workspace may not have read a fresh write yet.
  const isName = (name: string) => entryName.safeParse(name).success;
  const hasFile = async (name: string) => isName(name) && (await controlPlane.read(kind, name)) !== null;
  const fileOf = (name: string) => (isName(name) ? basename(controlPlane.fileOf(kind, name)) : '');
  // An entry that is refused leaves nothing in the store.
  const withStoredSecrets = (yaml: string, name: string) => {
    const { secrets: store } = parts;
    if (store === undefined || !holdsSecrets(kind) || controlPlane.refusalOf(kind, name, yaml)) return yaml;
    return storePlainSecrets(yaml, { store, prefix: `${kind}-${name}` });
  };
  const placeElsewhere = (name: string) => (kind === 'a2a' ? parts.listedElsewhere().get(name) : undefined);
  const upsert = async (context: Context<SwitchboardEnv>, name: string, given: object) => {
    const yaml = withStoredSecrets(stringify(given), name);
    const payload = { name, file: fileOf(name), yaml, entry: parse(yaml) };
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
    return context.json({ success: true, data: { name, ...warningsOf(kind, name, entry) } }, 201);
  });
  const replace = describeRoute({
    summary: `Adds or replaces an entry (${kind})`,
    errors: [command_refused, entry_twice],
  });
  app.put(`${path}/:name`, replace, validate('json', loose), async (context) => {
    const name = context.req.param('name');
    const entry = { ...context.req.valid('json'), [key]: name };
    await upsert(context, name, entry);
    return context.json({ success: true, data: { name, ...warningsOf(kind, name, entry) } });
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

type CommandErrorCode = keyof typeof commandErrors;

interface Outcome {
  success: boolean;
  error?: string;
  code?: string;
  changeId?: number | null;
}

/** A bus that makes commands safe for the journal. */
export type CommandBus = Pick<Bus, 'request'>;

/** `catchUp` resolves when the changes of other switchboards are here. */
export function createCommandBus(
  bus: Bus,
  journalDraft: JournalDraft,
  catchUp: () => Promise<void>,
): CommandBus {
  return {
    async request(topic, payload, options) {
      const answer = await bus.request(topic, journalDraft({ topic, payload }).payload, options);
      // Any switchboard may have run it; whoever asks here next wants to see it. It is done, whatever becomes of this.
      await catchUp().catch(() => undefined);
      return answer;
    },
  };
}

/** Sends a command and waits for its outcome; returns the id of the change. */
export async function sendCommand(
  context: Context<SwitchboardEnv>,
  bus: CommandBus,
  topic: string,
  payload: object,
): Promise<number | undefined> {
  const source = { interface: 'api', userId: context.get('caller').name };
  const principal = context.get('principal');
  const answer = await bus.request(topic, payload, { timeoutMs, source, principal }).catch(throwBusFailure);
  const { success, error = 'It was refused.', code, changeId } = answer.payload as Outcome;
  if (success) return changeId ?? undefined;
  const known = code !== undefined && code in commandErrors ? (code as CommandErrorCode) : 'command_refused';
  throw commandErrors[known]({ words: error });
}

/** Workspace files as text, comments included. */
export function mountFiles(app: Hono<SwitchboardEnv>, bus: CommandBus, controlPlane: ControlPlane): void {
  const path = '/api/workspace/files/:kind/:name';
  const fileOf = (kind: KindName, name: string) => {
    try {
      return basename(controlPlane.fileOf(kind, name));
    } catch (error) {
      return refuse(error);
    }
  };
  const read = describeRoute({ summary: 'The text of a file', errors: [fileErrors.file_unknown] });
  app.get(path, read, validate('param', place), async (context) => {
    const { kind, name } = context.req.valid('param');
    const found = await controlPlane.read(kind, name).catch(refuse);
    if (found === null) throw fileErrors.file_unknown({ name });
    return context.json({ success: true, data: { kind, name, text: found, values: valuesOf(found) } });
  });
  const check = describeRoute({ summary: 'What is wrong with a text, line by line; nothing is written' });
  app.post(`${path}/check`, check, validate('param', place), validate('json', textBody), (context) => {
    const { kind, name } = context.req.valid('param');
    const problems = problemsOf(() => controlPlane.check(kind, name, context.req.valid('json').text));
    return context.json({ success: true, data: { problems } });
  });
  const replace = describeRoute({
    summary: 'Adds or replaces a file by its text, or changes values of it; comments stay',
    errors: [commandErrors.command_refused, commandErrors.entry_twice],
  });
  app.put(path, replace, validate('param', place), validate('json', fileBody), async (context) => {
    const { kind, name } = context.req.valid('param');
    const { text: given, values = {}, reason } = context.req.valid('json');
    const yaml = given ?? changed(name, (await controlPlane.read(kind, name).catch(refuse)) ?? '', values);
    const payload = { name, yaml, file: fileOf(kind, name), ...(reason && { reason }) };
    const changeId = await sendCommand(context, bus, `command.${kind}.upsert`, payload);
    const warnings = warningsOf(kind, name, parse(yaml));
    return context.json({ success: true, data: { name, changeId: changeId ?? null, ...warnings } });
  });
}

/** What an entry that was accepted lacks for its work. */
function warningsOf(kind: KindName, name: string, entry: Record<string, unknown>): { warnings?: string[] } {
  const { skills } = entry;
  if (kind !== 'agent' || (Array.isArray(skills) && skills.length > 0)) return {};
  return { warnings: [`${name} has no skill, so no route reaches it. Add one under skills.`] };
}

/** What a form can show; null for a text that is broken. */
function valuesOf(yaml: string): unknown {
  const document = parseDocument(yaml);
  return document.errors.length > 0 ? null : document.toJS();
}

/** A form can change only a file that is one mapping, whose values stand on their own. */
function changed(name: string, yaml: string, values: Readonly<Record<string, unknown>>): string {
  try {
    return withValues(yaml, values);
  } catch (error) {
    const [reason] = errorMessage(error).split('\n');
    const words = `A form cannot change the file of ${name} (${reason}). Edit it as YAML.`;
    throw commandErrors.command_refused({ words });
  }
}

/** A value that did not change keeps its comments and its spelling. */
function withValues(yaml: string, values: Readonly<Record<string, unknown>>): string {
  const document = parseDocument(yaml);
  const [broken] = document.errors;
  if (broken !== undefined) throw broken;
  if (document.contents !== null && !isMap(document.contents))
    throw new Error('it is no mapping of names to values');
  const before = (document.toJS() ?? {}) as Record<string, unknown>;
  for (const [key, value] of Object.entries(values)) {
    if (value === null) document.contents && document.delete(key);
    else if (JSON.stringify(before[key]) !== JSON.stringify(value))
      document.set(key, document.createNode(value));
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function problemsOf(check: () => void): Omit<LineProblem, 'column'>[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    const { cause } = error;
    return cause instanceof ConfigError
      ? cause.problems.map(lineProblem).map(({ line, message }) => ({ line, message }))
      : [{ line: 1, message: error.message }];
  }
}

function refuse(error: unknown): never {
  if (error instanceof ControlPlaneError) throw commandErrors.command_refused({ words: error.message });
  throw error;
}
