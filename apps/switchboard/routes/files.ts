import { basename } from 'node:path';
import { ConfigError } from '@trunkline/config';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ControlPlane } from '../control/control-plane.ts';
import { ControlPlaneError } from '../control/control-plane-error.ts';
import type { KindName } from '../workspace/kinds.ts';
import { type CommandBus, commandErrors, sendCommand } from './command.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  file_unknown: [404, ({ name }: { name: string }) => `There is no file of ${name} in the workspace.`],
});

/** Only kinds whose files hold no credentials. */
const place = z.object({ kind: z.enum(['agent', 'route', 'ceremony']), name: z.string() });
const textBody = z.object({ text: z.string().max(200_000), reason: z.string().max(1000).optional() });

interface LineMessage {
  line: number;
  message: string;
}

/** Files of the workspace as they are written, comments included: read, checked, replaced. */
export function mountFiles(app: Hono<SwitchboardEnv>, bus: CommandBus, controlPlane: ControlPlane): void {
  const path = '/api/workspace/files/:kind/:name';
  const fileOf = (kind: KindName, name: string) => {
    try {
      return basename(controlPlane.fileOf(kind, name));
    } catch (error) {
      return refuse(error);
    }
  };
  const read = describeRoute({ summary: 'The text of a file', errors: [errors.file_unknown] });
  app.get(path, read, validate('param', place), async (context) => {
    const { kind, name } = context.req.valid('param');
    const text = await controlPlane.read(kind, name).catch(refuse);
    if (text === null) throw errors.file_unknown({ name });
    return context.json({ success: true, data: { kind, name, text } });
  });
  const check = describeRoute({ summary: 'What is wrong with a text, line by line; nothing is written' });
  app.post(`${path}/check`, check, validate('param', place), validate('json', textBody), (context) => {
    const { kind, name } = context.req.valid('param');
    const problems = problemsOf(() => controlPlane.check(kind, name, context.req.valid('json').text));
    return context.json({ success: true, data: { problems } });
  });
  const replace = describeRoute({
    summary: 'Adds or replaces a file by its text',
    errors: [commandErrors.command_refused, commandErrors.entry_twice],
  });
  app.put(path, replace, validate('param', place), validate('json', textBody), async (context) => {
    const { kind, name } = context.req.valid('param');
    const { text, reason } = context.req.valid('json');
    const payload = { name, yaml: text, file: fileOf(kind, name), ...(reason && { reason }) };
    const changeId = await sendCommand(context, bus, `command.${kind}.upsert`, payload);
    return context.json({ success: true, data: { name, changeId: changeId ?? null } });
  });
}

function problemsOf(check: () => void): LineMessage[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    const { cause } = error;
    return cause instanceof ConfigError
      ? cause.problems.map(lineMessage)
      : [{ line: 1, message: error.message }];
  }
}

/** Out of `agents/cook.yaml:3:5: words`. */
function lineMessage(problem: string): LineMessage {
  const [, line = '1', message = problem] = /^[^:]*:(\d+):\d+: (.*)$/s.exec(problem) ?? [];
  return { line: Number(line), message };
}

function refuse(error: unknown): never {
  if (error instanceof ControlPlaneError) throw commandErrors.command_refused({ words: error.message });
  throw error;
}
