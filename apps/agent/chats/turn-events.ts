import type { ChatEntry, ChatTurn } from './transcript.ts';

/** The turn with what its stream tells of it; the same turn when the event says nothing new. */
export function applyEvent(turn: ChatTurn, { event, data }: { event: string; data: string }): ChatTurn {
  const body: unknown = JSON.parse(data);
  switch (event) {
    case 'turn':
      return body as ChatTurn;
    case 'entry':
      return withEntry(turn, body as { index: number; entry: ChatEntry });
    case 'append':
      return withText(turn, body as { index: number; text: string });
    case 'state':
      return { ...turn, ...(body as Pick<ChatTurn, 'state' | 'usage' | 'duration_ms'>) };
    default:
      return turn;
  }
}

function withEntry(turn: ChatTurn, { index, entry }: { index: number; entry: ChatEntry }): ChatTurn {
  const entries = [...turn.entries];
  entries[index] = entry;
  return { ...turn, entries };
}

function withText(turn: ChatTurn, { index, text }: { index: number; text: string }): ChatTurn {
  const entry = turn.entries[index];
  if (entry?.kind !== 'text' && entry?.kind !== 'reasoning') return turn;
  return withEntry(turn, { index, entry: { ...entry, text: entry.text + text } });
}
