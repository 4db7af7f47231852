/** One call of a tool in a scripted answer. A string for `arguments` goes out as it is, so that it may be broken JSON. */
export interface ScriptedToolCall {
  id?: string;
  name: string;
  arguments: unknown;
}

/** A sound answer of the model: text, tool calls or both. */
export interface ScriptedAnswer {
  fault?: never;
  reasoning?: string;
  text?: string;
  toolCalls?: ScriptedToolCall[];
  /** Pictures that the model made, as data URLs. */
  images?: string[];
  /** Pages that the answer is drawn from. */
  citations?: { url: string; title: string }[];
  finishReason?: string;
  usage?: { input: number; output: number };
  /** Milliseconds before the first chunk of the stream. */
  afterMs?: number;
  /** Milliseconds between two chunks of the stream. */
  dripMs?: number;
}

/** A fault of the endpoint, as it shows on the wire. */
export type ScriptedFault =
  /** An HTTP error, e.g. 429 with `retryAfter`, 500 or 401. */
  | { fault: 'status'; status: number; retryAfter?: string; message?: string }
  /** Status 200 with a body (or a chunk of the stream, after `text`) that is not JSON. */
  | { fault: 'malformed'; text?: string }
  /** The socket dies in the middle of a chunk, after `text` was sent. */
  | { fault: 'cut'; text?: string }
  /** The stream ends in good order after `text`, but without a finish reason and `[DONE]`. */
  | { fault: 'unfinished'; text?: string }
  /** Nothing is sent (or nothing after `text`) until the test calls `release()`; then `answer` follows. */
  | { fault: 'stall'; text?: string; answer?: string }
  /** An error object in the middle of a stream that began with status 200. */
  | { fault: 'error-chunk'; text?: string; message?: string };

export type ScriptedReply = string | ScriptedAnswer | ScriptedFault;

/** The parts of a chat request that scripts look at. */
export interface ChatRequestBody {
  model: string;
  messages: { role: string; content?: unknown; tool_calls?: unknown; tool_call_id?: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: { type: string; function: { name: string; description?: string; parameters?: unknown } }[];
  [name: string]: unknown;
}

export type ModelScript =
  | ScriptedReply[]
  | ((request: ChatRequestBody, index: number) => ScriptedReply | Promise<ScriptedReply>);

/** The next reply for each request: queued ones first, then the script's function; with neither, a fault that says so. */
export function createReplySource(script: ModelScript) {
  const queue = Array.isArray(script) ? [...script] : [];
  let index = 0;
  return {
    async next(request: ChatRequestBody): Promise<ScriptedAnswer | ScriptedFault> {
      const position = index++;
      const reply = queue.shift() ?? (Array.isArray(script) ? undefined : await script(request, position));
      if (reply === undefined) return emptyQueue(index);
      return typeof reply === 'string' ? { text: reply } : reply;
    },
    enqueue: (replies: ScriptedReply[]) => queue.push(...replies),
    forget() {
      queue.length = 0;
    },
  };
}

function emptyQueue(index: number): ScriptedFault {
  return { fault: 'status', status: 400, message: `The test's script holds no reply for request ${index}` };
}

/** Text from outside as it was before it was fenced for the model, for scripts that repeat what a tool said. */
export function withoutFence(content: unknown): string {
  return String(content).replace(/^<(outside-[0-9a-f]{24})[^>]*>\n([\s\S]*)\n<\/\1>$/, '$2');
}
