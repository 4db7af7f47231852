import { isObject, type JsonObject } from '../dialects/read/values.ts';
import type { Fetch } from './agent-fetch.ts';

/**
 * The SDK's readers of 0.3 over REST and gRPC drop `append` of an artifact update, so that of a streamed answer the last
 * piece alone would be left. Its metadata they keep: `append` stands there too before they see it.
 */
const mark = 'urn:trunkline:append';

/** Whether an update continues the artifact, told by its field or by the mark. */
export function isAppended({ append, metadata }: { append: boolean; metadata?: JsonObject | undefined }) {
  return append || metadata?.[mark] === true;
}

/** For REST: marks the updates in streams of server-sent events. */
export function markAppends(send: Fetch): Fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!response.ok || !isStream || response.body === null) return response;
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(eachLine(markLine))
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { headers: response.headers });
  };
}

/** Marks an update in place: a frame as JSON, or the payload of one as gRPC decodes it. */
export function markAppend(frame: unknown): void {
  if (!isObject(frame)) return;
  const update = frame.artifactUpdate ?? frame.artifact_update ?? payloadOf(frame);
  if (isObject(update) && update.append === true)
    update.metadata = { ...(isObject(update.metadata) && update.metadata), [mark]: true };
}

function payloadOf({ payload }: JsonObject): unknown {
  return isObject(payload) && payload.$case === 'artifactUpdate' ? payload.value : undefined;
}

function markLine(line: string): string {
  if (!line.startsWith('data:') || !line.includes('"append"')) return line;
  try {
    const frame: unknown = JSON.parse(line.slice('data:'.length));
    markAppend(frame);
    return `data: ${JSON.stringify(frame)}`;
  } catch (error) {
    // One of several lines of an event; the reader judges.
    if (error instanceof SyntaxError) return line;
    throw error;
  }
}

function eachLine(change: (line: string) => string): TransformStream<string, string> {
  // A line may come in very many pieces: they are joined once, at its end.
  let rest: string[] = [];
  return new TransformStream({
    transform(text, controller) {
      const [first = '', ...lines] = text.split('\n');
      rest.push(first);
      for (const line of lines) {
        controller.enqueue(`${change(rest.join(''))}\n`);
        rest = [line];
      }
    },
    flush: (controller) => controller.enqueue(change(rest.join(''))),
  });
}
