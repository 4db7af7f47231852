import type { SseEvent } from './frame.ts';
import type { QueueLimits } from './frame-queue.ts';

/** An event, or the bytes of a frame formatted once for many readers. */
export type SseFrame = SseEvent | Uint8Array;

export interface SseSource {
  /** What the client saw last, from its `Last-Event-ID` header. */
  readonly lastEventId: string | undefined;
  /** Aborted when the client leaves or the server stops. */
  readonly signal: AbortSignal;
}

export interface SseSubscriber extends SseSource {
  send(frame: SseFrame): void;
  /** Ends the stream after what was sent. */
  end(): void;
}

export interface SseSharedOptions {
  /** A comment goes out this often; default 15 seconds. */
  keepaliveMs?: number;
  /** How long a reader may take nothing before it is cut off; default 60 seconds. */
  stallMs?: number;
  /** A comment to begin with, such as `connected`. */
  greeting?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A source that waits for the reader: the next event is asked for when the last one fitted. */
export interface SsePullOptions extends SseSharedOptions {
  events: (source: SseSource) => AsyncIterable<SseFrame>;
}

/** A source that does not wait: frames queue up to a limit, then the overflow rule applies. */
export interface SsePushOptions extends SseSharedOptions {
  /** Begins sending and gives back what stops it. */
  subscribe: (subscriber: SseSubscriber) => () => void;
  /** Default 1024 frames and 1 MiB. */
  queue?: QueueLimits;
  /** `drop-oldest` (default) loses the oldest frames; `close` cuts the reader off, who may resume by `Last-Event-ID`. */
  overflow?: 'drop-oldest' | 'close';
  onDrop?: (frames: number) => void;
}
