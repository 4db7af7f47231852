export interface StreamEvent {
  /** The last id that the stream gave, with this event or before it. */
  id: string;
  /** "message" when the stream names none. */
  event: string;
  data: string;
}

export interface SseParser {
  /** Takes the next piece of the stream and gives the events that it completes. */
  push(text: string): StreamEvent[];
  /** The pause before reconnecting that the stream asked for. */
  retryMs(): number | undefined;
}

/** Reads text/event-stream, however it is cut into pieces. */
export function sseParser(lastEventId = ''): SseParser {
  let rest = '';
  let id = lastEventId;
  let event = '';
  let data: string[] = [];
  let retry: number | undefined;

  function takeField(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) retry = Number(value);
  }

  // An empty line ends an event; one without data is none.
  function takeLine(line: string): StreamEvent[] {
    if (line !== '') {
      takeField(line);
      return [];
    }
    const finished = data.length === 0 ? [] : [{ id, event: event || 'message', data: data.join('\n') }];
    event = '';
    data = [];
    return finished;
  }

  return {
    push(text) {
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      return lines.flatMap(takeLine);
    },
    retryMs: () => retry,
  };
}
