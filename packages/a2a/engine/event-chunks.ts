import type { NumberedEvent } from '../protocol/model.ts';

/** Events that follow each other, as one row of a table. */
export interface Chunk {
  /** The number of its last event. */
  last: number;
  text: string;
}

export interface ChunkRow {
  events: string;
}

/** Characters of a row, unless one event has more: whoever reads slowly gets a row at a time. */
const longestChunk = 250_000;

export const noEvents: Chunk = { last: 0, text: '[]' };

export function eventsOf(row: ChunkRow): NumberedEvent[] {
  return JSON.parse(row.events) as NumberedEvent[];
}

export function chunksOf(events: readonly NumberedEvent[]): Chunk[] {
  const chunks: Chunk[] = [];
  let texts: string[] = [];
  let length = 0;
  const close = (last: number) => {
    chunks.push({ last, text: `[${texts.join(',')}]` });
    texts = [];
    length = 0;
  };
  for (const [index, { sequence, event }] of events.entries()) {
    const text = JSON.stringify({ sequence, event });
    if (texts.length > 0 && length + text.length > longestChunk) close(events[index - 1]?.sequence ?? 0);
    texts.push(text);
    length += text.length;
  }
  if (texts.length > 0) close(events.at(-1)?.sequence ?? 0);
  return chunks;
}
