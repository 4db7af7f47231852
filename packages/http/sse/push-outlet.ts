import type { ResponseStream } from '../stream/response-stream.ts';
import { toChunk } from './frame.ts';
import { type Chunk, FrameQueue, type QueueLimits } from './frame-queue.ts';
import type { SseFrame } from './types.ts';

export interface OutletOptions {
  queue: QueueLimits;
  overflow: 'drop-oldest' | 'close';
  onDrop: (frames: number) => void;
}

/** Writes what the reader takes at once and queues the rest, up to its limits. */
export class PushOutlet {
  readonly #stream: ResponseStream;
  readonly #options: OutletOptions;
  readonly #queue: FrameQueue;
  #blocked = false;
  #ending = false;

  constructor(stream: ResponseStream, options: OutletOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#queue = new FrameQueue(options.queue);
  }

  send(frame: SseFrame): void {
    if (this.#ending || this.#stream.closed) return;
    const chunk = toChunk(frame);
    if (this.#blocked) this.#enqueue(chunk);
    else this.#write(chunk);
  }

  /** Ends the stream once everything sent has been written. */
  end(): void {
    this.#ending = true;
    if (!this.#blocked) this.#stream.end();
  }

  #enqueue(chunk: Chunk): void {
    if (this.#options.overflow === 'close' && !this.#queue.fits(chunk)) {
      this.#stream.destroy();
      return;
    }
    const dropped = this.#queue.push(chunk);
    if (dropped > 0) this.#options.onDrop(dropped);
  }

  #write(chunk: Chunk): void {
    if (this.#stream.write(chunk)) return;
    this.#blocked = true;
    void this.#stream.drained().then(() => this.#flush());
  }

  #flush(): void {
    this.#blocked = false;
    while (!this.#blocked) {
      const chunk = this.#queue.shift();
      if (chunk === undefined) break;
      this.#write(chunk);
    }
    if (this.#ending && !this.#blocked) this.#stream.end();
  }
}
