import type { RequestContext } from '../app/context.ts';
import type { ResponseStream } from '../stream/response-stream.ts';
import type { QueueLimits } from './frame-queue.ts';
import { PushOutlet } from './push-outlet.ts';
import type { SsePushOptions, SseSource } from './types.ts';

const DEFAULT_QUEUE: QueueLimits = { frames: 1024, bytes: 1024 * 1024 };

/** Lets the source send whenever it likes, and tells it to stop when the stream is over. */
export function pumpPush(
  context: RequestContext,
  stream: ResponseStream,
  source: SseSource,
  options: SsePushOptions,
): void {
  const { subscribe, queue = DEFAULT_QUEUE, overflow = 'drop-oldest' } = options;
  const onDrop = (frames: number) => {
    context.get('metrics')?.http.droppedFrames.inc(frames);
    options.onDrop?.(frames);
  };
  const outlet = new PushOutlet(stream, { queue, overflow, onDrop });
  try {
    const stop = subscribe({ ...source, send: (frame) => outlet.send(frame), end: () => outlet.end() });
    if (stream.signal.aborted) stop();
    else stream.signal.addEventListener('abort', stop, { once: true });
  } catch (error) {
    context.get('logger').error({ err: error }, 'stream source failed');
    stream.destroy();
  }
}
