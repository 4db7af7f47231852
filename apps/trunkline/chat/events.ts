/** What a turn of the agent shows in the terminal. */
export type ChatEvent =
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; phase: 'started' | 'completed' | 'failed'; detail: string }
  | { type: 'question'; text: string }
  | { type: 'end'; state: string; text: string };

interface Part {
  kind?: string;
  text?: string;
  data?: { name?: string; phase?: string; args?: unknown; result?: unknown };
  metadata?: { mimeType?: string };
}

/** A frame of an A2A 0.3 stream, as far as the terminal reads it. */
export interface Frame {
  kind?: string;
  id?: string;
  taskId?: string;
  contextId?: string;
  final?: boolean;
  status?: { state?: string; message?: { parts?: Part[] } };
  artifact?: { parts?: Part[] };
}

const TOOL_CALL = 'application/vnd.trunkline.tool-call-v1+json';
const LONGEST_DETAIL = 100;

/** Turns one frame into what is shown. */
export function eventsOf(frame: Frame): ChatEvent[] {
  if (frame.kind === 'artifact-update') return (frame.artifact?.parts ?? []).flatMap(partEvent);
  if (frame.kind !== 'status-update' || frame.final !== true) return [];
  const state = frame.status?.state ?? 'unknown';
  const text = textOf(frame.status?.message?.parts ?? []);
  return state === 'input-required' ? [{ type: 'question', text }] : [{ type: 'end', state, text }];
}

function partEvent(part: Part): ChatEvent[] {
  if (part.metadata?.mimeType === TOOL_CALL) return toolEvent(part.data ?? {});
  return part.kind === 'text' && part.text ? [{ type: 'text', text: part.text }] : [];
}

function toolEvent({ name, phase, args, result }: NonNullable<Part['data']>): ChatEvent[] {
  if (name === undefined || (phase !== 'started' && phase !== 'completed' && phase !== 'failed')) return [];
  return [{ type: 'tool', name, phase, detail: oneLine(phase === 'started' ? args : result) }];
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > LONGEST_DETAIL ? `${flat.slice(0, LONGEST_DETAIL - 1)}…` : flat;
}

function textOf(parts: Part[]): string {
  return parts.map((part) => part.text ?? '').join('');
}
