import type { Bus, Draft, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import { onBehalf } from '../core/messages.ts';
import { fieldsOf, text, withoutUndefined } from '../dispatch/request.ts';
import {
  type ChangeNote,
  type ControlPlane,
  ControlPlaneError,
  controlPlaneErrorCodes,
} from './control-plane.ts';
import { holdsSecrets, redactEntry, redactText } from './redact.ts';
import { type Seal, SealKeyMissing } from './seal.ts';

/** Schedules have a command of their own. */
const commandKinds = ['agent', 'a2a', 'mcp', 'route', 'ceremony'] as const;

export interface CommandSettings {
  bus: Bus;
  controlPlane: ControlPlane;
  openSealed: (sealed: string, about: string) => Promise<string>;
  /** Resolves when the workspace has the changes of other switchboards. */
  catchUp: () => Promise<void>;
  logger: Logger;
}

type Outcome = { success: true; changeId: number | null } | { success: false; error: string; code: string };

/** Runs `command.agent|a2a|mcp|route|ceremony.upsert|remove` and `command.change.undo`. */
export async function startCommands(settings: CommandSettings): Promise<void> {
  for (const kind of commandKinds) {
    await listen(`command.${kind}.*`, `controlPlane-${kind}`, settings, (message) =>
      changeEntry(kind, message, settings),
    );
  }
  await listen('command.change.undo', 'registrar-undo', settings, (message) => undo(message, settings));
}

async function listen(
  pattern: string,
  durable: string,
  { bus, logger }: CommandSettings,
  carryOut: (message: Message) => Promise<number | null>,
): Promise<void> {
  const handle = async (message: Message) => {
    const outcome = await outcomeOf(() => carryOut(message));
    await tell(message, outcome, bus, logger);
  };
  await bus.subscribe(pattern, handle, { durable, group: 'registrar', plugin: 'registrar' });
}

async function changeEntry(
  kind: CommandKind,
  message: Message,
  { controlPlane, openSealed }: CommandSettings,
): Promise<number | null> {
  const fields = fieldsOf(message.payload);
  const name = typeof fields.name === 'string' ? fields.name : '';
  const action = message.topic.split('.')[2];
  if (action === 'remove') {
    await controlPlane.remove(kind, name, noteOf(message));
    return null;
  }
  if (action === 'upsert') {
    throwProblem(fields.problem);
    const sealed = text(fields.sealed);
    const yaml = sealed === undefined ? text(fields.yaml) : await openSealed(sealed, `${kind}/${name}`);
    const change = await controlPlane.writeText(kind, name, yaml ?? '', noteOf(message));
    return change.id;
  }
  throw new ControlPlaneError('record_refused', `${message.topic} is no command; use upsert or remove.`);
}

/** A text that was refused before publishing is not in the message, only the reason. */
function throwProblem(problem: unknown): void {
  const { code, error } = fieldsOf(problem);
  if (text(error) === undefined) return;
  const known = controlPlaneErrorCodes.find((name) => name === code) ?? 'record_refused';
  throw new ControlPlaneError(known, text(error) ?? '');
}

async function undo(message: Message, { controlPlane, catchUp }: CommandSettings): Promise<number> {
  // It may have been made at another switchboard, a moment ago.
  await catchUp();
  const { id, change: named } = fieldsOf(message.payload);
  const change = await controlPlane.undo(Number(id), noteOf(message), text(named));
  return change.id;
}

function noteOf({ id, topic, source, payload }: Message): ChangeNote {
  const reason = text(fieldsOf(payload).reason);
  return {
    actor: source?.userId ?? source?.interface ?? 'unknown',
    ...(reason !== undefined && { reason }),
    command: { id, topic },
  };
}

/** A refused command is answered with the reason: a retry would not help. */
async function outcomeOf(work: () => Promise<number | null>): Promise<Outcome> {
  try {
    return { success: true, changeId: await work() };
  } catch (error) {
    // The bus redelivers it: the switchboard that has the key may be back by then.
    if (error instanceof SealKeyMissing) throw error;
    const code = error instanceof ControlPlaneError ? error.code : 'failed';
    return { success: false, error: errorMessage(error), code };
  }
}

async function tell(message: Message, outcome: Outcome, bus: Bus, logger: Logger): Promise<void> {
  const { correlationId, id: parentId, topic, reply } = message;
  const principal = onBehalf(message, 'switchboard');
  if (!outcome.success) {
    logger.warn({ topic, error: outcome.error }, 'command refused');
    const payload = { source: 'registrar', plugin: 'registrar', error: outcome.error, topic };
    await bus.publish({ topic: 'system.error', payload, correlationId, parentId, principal });
  }
  if (reply === undefined) return;
  await bus.publish({ topic: reply.topic, payload: outcome, correlationId, parentId, principal });
}

export type CommandKind = (typeof commandKinds)[number];

/** Makes a message safe for the journal. */
export type JournalDraft = (draft: Draft) => Draft;

/**
 * Seals commands for entries with credentials and adds a redacted text for readers. Of a refused text only the reason
 * goes on the bus.
 */
export function createJournalDraft(controlPlane: ControlPlane, seal: Seal): JournalDraft {
  return (draft) => {
    if (!draft.topic.startsWith('command.')) return draft;
    const [, kind, action] = draft.topic.split('.');
    if (!isCommandKind(kind)) return draft;
    const { name, file, reason, yaml, entry } = fieldsOf(draft.payload);
    const head = withoutUndefined({ name, file, reason });
    if (action !== 'upsert') return { ...draft, payload: head };
    const source = text(yaml) ?? '';
    const refusal = controlPlane.refusalOf(kind, text(name) ?? '', source);
    if (refusal !== undefined) {
      const { code, message: error } = refusal;
      return { ...draft, payload: { ...head, problem: { code, error } } };
    }
    if (!holdsSecrets(kind)) return { ...draft, payload: { ...head, ...withoutUndefined({ yaml, entry }) } };
    const shown = { yaml: redactText(source), ...(entry !== undefined && { entry: redactEntry(entry) }) };
    const sealed = seal.seal(source, `${kind}/${text(name)}`);
    return { ...draft, payload: { ...head, ...shown, sealed } };
  };
}

function isCommandKind(kind: string | undefined): kind is CommandKind {
  return (commandKinds as readonly (string | undefined)[]).includes(kind);
}
