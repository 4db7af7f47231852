import type { RequestContext } from '../app/context.ts';
import { toChunk } from './frame.ts';
import type { ResponseStream } from './response-stream.ts';
import type { SseFrame } from './types.ts';

/** Takes one event at a time and waits for the reader between them. */
export async function pumpPull(
  context: RequestContext,
  stream: ResponseStream,
  events: AsyncIterable<SseFrame>,
): Promise<void> {
  const fail = (error: unknown) => context.var.logger.error({ err: error }, 'event source failed');
  try {
    await pump(stream, events, fail);
  } catch (error) {
    if (!stream.signal.aborted) fail(error);
  } finally {
    stream.end();
  }
}

/** Written out rather than as `for await`, so that a source still waiting for its next event is told to stop. */
async function pump(
  stream: ResponseStream,
  events: AsyncIterable<SseFrame>,
  fail: (error: unknown) => void,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  const stop = () => void iterator.return?.().then(undefined, fail);
  stream.signal.addEventListener('abort', stop, { once: true });
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    if (stream.closed) return;
    if (!stream.write(toChunk(next.value))) await stream.drained();
  }
}
