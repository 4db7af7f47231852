import type { TraceEntry } from '../../../api-types.ts';
// The trace of a flow, made readable.

export interface Step {
  at: number;
  title: string;
  tone: 'plain' | 'live' | 'waiting' | 'failed';
  /** A sentence beside the title. */
  words: string;
  /** All of it, when there is more to see. */
  whole: { title: string; code: string }[];
  /** How long it took, for what has an end. */
  tookMs?: number;
}

/** One step for each entry; the call of a tool and its end are one. */
export function stepsOf(trace: readonly TraceEntry[]): Step[] {
  return trace.flatMap((entry) => (entry.event === 'tool-end' ? [] : [stepOf(entry, trace)]));
}

function stepOf({ at, event, details }: TraceEntry, trace: readonly TraceEntry[]): Step {
  const fields = details ?? {};
  const step = (title: string, words: string, tone: Step['tone'] = 'plain'): Step => ({
    at,
    title,
    words,
    tone,
    whole: [],
  });
  switch (event) {
    case 'request':
      return step('Request', `for ${text(fields.skill) || 'no skill'}${addressed(fields.agent)}`);
    case 'queued':
      return step('Queued', text(fields.why), 'waiting');
    case 'dead-letter':
      return step('Dead letter', text(fields.why), 'failed');
    case 'start':
      return step('Begun', `by ${text(fields.agent)}, ${text(fields.executor)}`, 'live');
    case 'dropped':
      return step('Dropped', text(fields.why) || text(fields.reason), 'failed');
    case 'remote-task':
      return step('Handed over', `to ${text(fields.agent)} as task ${text(fields.taskId)}`);
    case 'input-start':
      return step('Asks a person', text(fields.question), 'waiting');
    case 'input-end':
      return step('Answer', fields.answered === true ? 'came' : 'did not come in time');
    case 'tool-start':
      return toolStep(at, fields, trace);
    case 'end':
      return step(
        'End',
        text(fields.error) ||
          `${text(fields.taskState)}${fields.replyTopic ? `, answer on ${text(fields.replyTopic)}` : ''}`,
        fields.error === undefined ? 'live' : 'failed',
      );
    default:
      return { ...step(event, ''), whole: [{ title: event, code: pretty(fields) }] };
  }
}

function toolStep(at: number, fields: Record<string, unknown>, trace: readonly TraceEntry[]): Step {
  const end = trace.find(
    ({ event, details }) => event === 'tool-end' && details?.toolCallId === fields.toolCallId,
  );
  const failed = end?.details?.failed === true;
  return {
    at,
    title: `Tool ${text(fields.name)}`,
    tone: failed ? 'failed' : 'plain',
    words: end === undefined ? 'under way' : failed ? 'failed' : '',
    whole: [
      { title: 'given', code: pretty(fields.input) },
      ...(end ? [{ title: 'result', code: pretty(end.details?.result) }] : []),
    ],
    ...(end && { tookMs: end.at - at }),
  };
}

function addressed(agent: unknown): string {
  return text(agent) === '' ? '' : `, meant for ${text(agent)}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
}
