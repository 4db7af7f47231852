export interface ReceivedEvent {
  /** The last id the stream named, in this event or before it. */
  id: string;
  /** `message` when the stream names none. */
  event: string;
  data: string;
}

export interface ReadSseOptions {
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

/** Reads server-sent events as the HTML standard tells browsers to. */
export async function* readSse(
  source: ByteSource,
  options: ReadSseOptions = {},
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const limit = options.maxEventLength ?? DEFAULT_MAX_EVENT_LENGTH;
  const parser = createParser(options, limit);
  for await (const line of splitLines(bytesOf(source), limit)) {
    const event = parser(line);
    if (event !== undefined) yield event;
  }
}

function bytesOf(source: ByteSource): Bytes {
  if (!('body' in source)) return source;
  if (source.body === null) throw new Error('The response has no body to read events from.');
  return source.body;
}

/** Takes one line; gives an event back when the line is the blank one that ends it. */
function createParser(options: ReadSseOptions, limit: number) {
  let id = '';
  let event = '';
  let data: string | undefined;
  const take = (name: string, value: string) => {
    if (name === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) options.onRetry?.(Number(value));
    if (data !== undefined && data.length > limit) throw tooLong(limit);
  };
  const dispatch = () => {
    const complete = data === undefined ? undefined : { id, event: event === '' ? 'message' : event, data };
    event = '';
    data = undefined;
    return complete;
  };
  return (line: string): ReceivedEvent | undefined => {
    if (line === '') return dispatch();
    if (line.startsWith(':')) options.onComment?.(line.slice(1).replace(/^ /, ''));
    else take(...splitField(line));
    return undefined;
  };
}

function splitField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}

function tooLong(limit: number): Error {
  return new Error(`The event stream sent an event of more than ${limit} characters.`);
}

/** Splits bytes into lines ended by CR, LF or CRLF, however the chunks fall; a last line without an end is left out. */
async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  // Only what is new is searched: going over a long line again with each chunk would take minutes.
  let begun = '';
  let afterReturn = false;
  for await (const bytes of source) {
    const decoded = decoder.decode(bytes, { stream: true });
    if (decoded === '') continue;
    const [first = '', ...others] = (afterReturn ? decoded.replace(/^\n/, '') : decoded).split(/\r\n|\r|\n/);
    afterReturn = decoded.endsWith('\r');
    begun += first;
    for (const next of others) {
      yield begun;
      begun = next;
    }
    if (begun.length > limit)
      throw new Error(`The event stream sent a line of more than ${limit} characters.`);
  }
}
