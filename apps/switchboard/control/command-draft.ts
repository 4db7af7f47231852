import type { Draft } from '@trunkline/bus';
import { fieldsOf, text } from '../dispatch/request.ts';
import { type CommandKind, commandKinds } from './command-kinds.ts';
import type { ControlPlane } from './control-plane.ts';
import { holdsSecrets, redactEntry, redactText } from './redact.ts';
import type { Seal } from './seal.ts';

/** Makes a message as the journal may hold it. */
export type JournalDraft = (draft: Draft) => Draft;

/**
 * Commands for entries with credentials go on the bus sealed, with a text for readers that has none of them; a text that
 * is refused does not go there at all, but only why.
 */
export function createJournalDraft(controlPlane: ControlPlane, seal: Seal): JournalDraft {
  return (draft) => {
    const [prefix, kind, action] = draft.topic.split('.');
    if (prefix !== 'command' || !isCommandKind(kind)) return draft;
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

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
