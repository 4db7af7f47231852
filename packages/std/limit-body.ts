export interface BodyLimit {
  maxBytes: number;
  /** Of a stream of server-sent events each event counts for itself: such a stream may go on for days. */
  perEvent?: boolean;
  tooLarge?: (maxBytes: number) => Error;
}

/**
 * The same answer, whose body breaks off and closes its connection once it has more bytes than allowed. For servers that answer
 * without an end, or with little that unpacks to much.
 */
export function limitBody(response: Response, limit: BodyLimit): Response {
  if (response.body === null) return response;
  const { maxBytes, perEvent = false, tooLarge = answerTooLarge } = limit;
  const { status, statusText, headers, url, redirected } = response;
  const isCountedByEvent = perEvent && headers.get('content-type')?.startsWith('text/event-stream') === true;
  const restOf = isCountedByEvent ? eventCounter() : undefined;
  let size = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const rest = restOf?.(chunk);
      size = rest ?? size + chunk.byteLength;
      if (size <= maxBytes) controller.enqueue(chunk);
      else controller.error(tooLarge(maxBytes));
    },
  });
  const limited = new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  return Object.defineProperties(limited, { url: { value: url }, redirected: { value: redirected } });
}

function answerTooLarge(maxBytes: number): Error {
  return new Error(`the answer is larger than ${maxBytes} bytes`);
}

const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];
/** All but the last character of the longest: an end may come in two chunks. */
const MOST_BEFORE = 3;

/** Says how many bytes of a chunk belong to an event that it begins; undefined where it goes on with one. */
function eventCounter(): (chunk: Uint8Array) => number | undefined {
  const decoder = new TextDecoder('latin1');
  let before = '';
  return (chunk) => {
    const text = before + decoder.decode(chunk);
    const rests = EVENT_ENDS.filter((end) => text.includes(end)).map(
      (end) => text.length - text.lastIndexOf(end) - end.length,
    );
    before = text.slice(-MOST_BEFORE);
    return rests.length === 0 ? undefined : Math.min(...rests);
  };
}
