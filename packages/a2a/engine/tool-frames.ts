import type { Artifact } from '../protocol/model.ts';
import type { ExecutionEvent } from './executor.ts';

type ToolEvent = Extract<ExecutionEvent, { type: 'tool-start' | 'tool-end' }>;
type Phase = 'started' | 'completed' | 'failed';

/** How the frame of a tool call is marked on the wire. */
export const toolCallMediaType = 'application/vnd.trunkline.tool-call-v1+json';
const longestPreview = 800;

/** The structured frame for clients that draw a timeline of tools. */
export function toolFrame(event: ToolEvent): Artifact {
  const preview =
    event.type === 'tool-start' ? { args: shorten(event.args) } : { result: shorten(event.result) };
  return {
    artifactId: `tool-${event.toolCallId}`,
    name: event.name,
    parts: [
      {
        type: 'data',
        data: { toolCallId: event.toolCallId, name: event.name, phase: phaseOf(event), ...preview },
        metadata: { mimeType: toolCallMediaType },
      },
    ],
  };
}

/** The same in words, for the status line. */
export function toolProgress(event: ToolEvent): string {
  return `Tool ${event.name} ${phaseOf(event)}`;
}

function phaseOf(event: ToolEvent): Phase {
  if (event.type === 'tool-start') return 'started';
  return event.failed === true ? 'failed' : 'completed';
}

/** A value whose JSON is short stays as it is; a longer one becomes the beginning of its text. */
function shorten(value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  if (text.length <= longestPreview) return value;
  return `${text.slice(0, longestPreview - 1)}…`;
}
