// Puts what a stream tells into the turns that are shown.
import type { StreamEvent } from '@trunkline/ui';
import type { Entry, Turn } from './wire.ts';

/** The turn with what happened in it; the same turn when the event says nothing new. */
export function applyEvent(turn: Turn, { event, data }: StreamEvent): Turn {
  const body: unknown = JSON.parse(data);
  switch (event) {
    case 'turn':
      return body as Turn;
    case 'entry':
      return withEntry(turn, body as { index: number; entry: Entry });
    case 'append':
      return withText(turn, body as { index: number; text: string });
    case 'state':
      return { ...turn, ...(body as Pick<Turn, 'state' | 'usage' | 'duration_ms'>) };
    default:
      return turn;
  }
}

/** Turns as they were loaded, with those that are shown already as they are shown; each once. */
export function mergeTurns(loaded: readonly Turn[], shown: readonly Turn[]): Turn[] {
  const byTask = new Map([...loaded, ...shown].map((turn) => [turn.task_id, turn]));
  return [...byTask.values()];
}

function withEntry(turn: Turn, { index, entry }: { index: number; entry: Entry }): Turn {
  const entries = [...turn.entries];
  entries[index] = entry;
  return { ...turn, entries };
}

function withText(turn: Turn, { index, text }: { index: number; text: string }): Turn {
  const entry = turn.entries[index];
  if (entry?.kind !== 'text') return turn;
  return withEntry(turn, { index, entry: { ...entry, text: entry.text + text } });
}
