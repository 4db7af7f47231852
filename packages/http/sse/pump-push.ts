import type { RequestContext } from '../app/context.ts';
import type { ResponseStream } from '../stream/response-stream.ts';
import { toChunk } from './frame.ts';
import { type Chunk, FrameQueue, type QueueLimits } from './frame-queue.ts';
import type { SseFrame, SsePushOptions, SseSource } from './types.ts';

const DEFAULT_QUEUE: QueueLimits = { frames: 1024, bytes: 1024 * 1024 };

/** Lets the source send whenever it likes, and tells it to stop when the stream is over. */
export function pumpPush(
  context: RequestContext,
  stream: ResponseStream,
  source: SseSource,
  options: SsePushOptions,
): void {
  try {
    const stop = options.subscribe({ ...source, ...createOutlet(context, stream, options) });
    if (stream.signal.aborted) stop();
    else stream.signal.addEventListener('abort', stop, { once: true });
  } catch (error) {
    context.var.logger.error({ err: error }, 'stream source failed');
    stream.destroy();
  }
}

/** Writes what the reader takes at once and queues the rest. */
function createOutlet(context: RequestContext, stream: ResponseStream, options: SsePushOptions) {
  const queue = new FrameQueue(options.queue ?? DEFAULT_QUEUE);
  let blocked = false;
  let ending = false;
  const write = (chunk: Chunk) => {
    if (stream.write(chunk)) return;
    blocked = true;
    void stream.drained().then(flush);
  };
  const flush = () => {
    blocked = false;
    while (!blocked && queue.length > 0) write(queue.shift() ?? '');
    if (ending && !blocked) stream.end();
  };
  return {
    send(frame: SseFrame) {
      if (stream.closed || ending) return;
      const chunk = toChunk(frame);
      if (!blocked) write(chunk);
      else if (options.overflow === 'close' && !queue.fits(chunk)) stream.destroy();
      else reportLost(context, options, queue.push(chunk));
    },
    end() {
      ending = true;
      if (!blocked) stream.end();
    },
  };
}

function reportLost(context: RequestContext, options: SsePushOptions, frames: number): void {
  if (frames === 0) return;
  context.var.metrics?.http.droppedFrames.inc(frames);
  options.onDrop?.(frames);
}
