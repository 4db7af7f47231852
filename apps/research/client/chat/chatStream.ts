import type { Chart } from '@trunkline/std/chart';
import type { CheckedAnswer, CitedSource } from '../../api-types.ts';

/** What the lines of the chat stream tell. */
export type ChatPart =
  | { type: 'text' | 'reasoning'; text: string }
  | {
      type: 'tool';
      name: string;
      query: string;
      results: CitedSource[];
      error: string | undefined;
      troubles: string[];
    }
  | { type: 'chart'; chart: Chart }
  | { type: 'note'; text: string }
  | { type: 'question'; question: string }
  | { type: 'checked'; checked: CheckedAnswer }
  | { type: 'end' }
  | { type: 'error'; message: string };

/** Reads a chat stream piece by piece; a line may come in several pieces. */
export async function* readChat(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<ChatPart> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const line of lines) yield* partsOf(line);
    if (done) return;
  }
}

interface Line {
  type?: string;
  text?: string;
  toolName?: string;
  args?: { query?: unknown } | Chart;
  result?: CitedSource[];
  error?: string;
  troubles?: string[];
  message?: string;
}

export function partsOf(line: string): ChatPart[] {
  const [, prefix, json] = /^([028deg]):(.+)$/.exec(line) ?? [];
  if (prefix === undefined || json === undefined) return [];
  const value = JSON.parse(json) as unknown;
  if (prefix === '0') return [{ type: 'text', text: String(value) }];
  if (prefix === 'g') return [{ type: 'reasoning', text: String(value) }];
  if (prefix === 'd') return [{ type: 'end' }];
  if (prefix === 'e') return [{ type: 'error', message: String((value as Line).message) }];
  const entries = value as Line[];
  if (prefix === '8') return (value as Annotation[]).map(annotationOf);
  return entries.flatMap(partOf);
}

type Annotation = { type: 'clarification'; question: string } | ({ type: 'citations' } & CheckedAnswer);

function annotationOf(annotation: Annotation): ChatPart {
  if (annotation.type !== 'citations') return { type: 'question', question: annotation.question };
  const { type: _, ...checked } = annotation;
  return { type: 'checked', checked };
}

function partOf(entry: Line): ChatPart | [] {
  const { type, text = '', toolName = '', args = {}, result = [], error, troubles = [] } = entry;
  if (type === 'note') return { type, text };
  // A chart that could not be drawn is the model's to mend.
  if (toolName === 'chart') return error === undefined ? { type: 'chart', chart: args as Chart } : [];
  return {
    type: 'tool',
    name: toolName,
    query: 'query' in args ? String(args.query ?? '') : '',
    results: result,
    error,
    troubles,
  };
}
