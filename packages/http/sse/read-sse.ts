import { createParser } from 'eventsource-parser';

export interface ReceivedEvent {
  /** The last id the stream named, in this event or before it. */
  id: string;
  /** `message` when the stream names none. */
  event: string;
  data: string;
}

interface ReadSseOptions {
  /** Called with the text of each comment line. */
  onComment?: (comment: string) => void;
  /** Called when the server names a reconnection time in milliseconds. */
  onRetry?: (milliseconds: number) => void;
  /** The most one event may hold, in characters; default 8 Mi. */
  maxEventLength?: number;
}

type Bytes = AsyncIterable<Uint8Array>;
/** A response, of whichever fetch, or the bytes themselves. */
type ByteSource = { readonly body: Bytes | null } | Bytes;

const DEFAULT_MAX_EVENT_LENGTH = 8 * 1024 * 1024;

/**
 * Reads server-sent events as the HTML standard tells browsers to. Takes hold of the stream when called: Node cancels a body
 * that nobody has started to read as soon as its Response is garbage collected. Whoever never iterates must abort the
 * request: `return()` before the first event leaves the stream open.
 */
export function readSse(
  source: ByteSource,
  options: ReadSseOptions = {},
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const bytes = bytesOf(source)[Symbol.asyncIterator]();
  return readEvents({ [Symbol.asyncIterator]: () => bytes }, options);
}

async function* readEvents(
  source: Bytes,
  { onComment, onRetry, maxEventLength: limit = DEFAULT_MAX_EVENT_LENGTH }: ReadSseOptions,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const events: ReceivedEvent[] = [];
  let lastId = '';
  const parser = createParser({
    onComment,
    onRetry,
    maxBufferSize: limit,
    onEvent({ id = lastId, event = 'message', data }) {
      lastId = id;
      events.push({ id, event, data });
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded')
        throw new Error(`The event stream sent an event of more than ${limit} characters.`);
    },
  });
  const decoder = new TextDecoder();
  let endsWithCr = false;
  for await (const bytes of source) {
    const text = decoder.decode(bytes, { stream: true });
    parser.feed(text);
    if (text !== '') endsWithCr = text.endsWith('\r');
    yield* events.splice(0);
  }
  // The parser holds a last CR back, as an LF might follow.
  if (endsWithCr) parser.feed('\n');
  yield* events;
}

function bytesOf(source: ByteSource): Bytes {
  if (!('body' in source)) return source;
  if (source.body === null) throw new Error('The response has no body to read events from.');
  return source.body;
}
