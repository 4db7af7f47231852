export interface SseEvent {
  id?: string;
  event?: string;
  data?: string;
  /** Milliseconds the client should wait before it reconnects. */
  retry?: number;
  /** Ignored by clients; keeps connections open. */
  comment?: string;
}

const LINE_BREAK = /\r\n|\r|\n/;

/** One event as the text that goes over the wire. */
export function formatSseFrame(event: SseEvent): string {
  let frame = '';
  if (event.comment !== undefined) frame += field('', event.comment);
  if (event.retry !== undefined) frame += `retry: ${Math.max(0, Math.trunc(event.retry))}\n`;
  if (event.id !== undefined) frame += `id: ${oneLine(event.id)}\n`;
  if (event.event !== undefined) frame += `event: ${oneLine(event.event)}\n`;
  if (event.data !== undefined) frame += field('data', event.data);
  return `${frame}\n`;
}

/** What is written for an event; bytes are a frame formatted before. */
export function toChunk(frame: SseEvent | Uint8Array): string | Uint8Array {
  return frame instanceof Uint8Array ? frame : formatSseFrame(frame);
}

function field(name: string, value: string): string {
  if (!LINE_BREAK.test(value)) return `${name}: ${value}\n`;
  const lines = value.split(LINE_BREAK);
  return lines.map((line) => `${name}: ${line}\n`).join('');
}

/** A line break would start a field of its own; readers drop an id that holds NUL. */
function oneLine(value: string): string {
  return value.replace(/[\r\n\0]+/g, ' ');
}
