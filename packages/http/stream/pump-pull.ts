import type { RequestContext } from '../app/context.ts';
import type { ResponseStream } from './response-stream.ts';

type Chunk = string | Uint8Array;

/** Takes one piece at a time and waits for the reader between them. A source that fails breaks the stream off. */
export async function pumpPull<Piece>(
  context: RequestContext,
  stream: ResponseStream,
  open: () => AsyncIterable<Piece>,
  toChunk: (piece: Piece) => Chunk,
): Promise<void> {
  const fail = (error: unknown) => context.get('logger').error({ err: error }, 'stream source failed');
  try {
    await pump(stream, open(), toChunk, fail);
    stream.end();
  } catch (error) {
    if (stream.signal.aborted) return stream.end();
    fail(error);
    stream.destroy();
  }
}

/** Written out rather than as `for await`, so that a source still waiting for its next piece is told to stop. */
async function pump<Piece>(
  stream: ResponseStream,
  source: AsyncIterable<Piece>,
  toChunk: (piece: Piece) => Chunk,
  fail: (error: unknown) => void,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  const stop = () => void iterator.return?.().then(undefined, fail);
  stream.signal.addEventListener('abort', stop, { once: true });
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    if (stream.closed) return stop();
    if (!stream.write(toChunk(next.value))) await stream.drained();
  }
}
